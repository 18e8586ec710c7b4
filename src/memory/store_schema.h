// The tables of a store.
#pragma once

#include <string_view>

#include "memory/database.h"

namespace ruv {

inline constexpr int64_t kStoreVersion = 1;

// Makes the tables of a new file, or makes sure of the version of one. Fails: unsupported (of a
// newer version), corrupt (another program's file), as Database.
Status prepare_schema(Database& database, const std::string& path);

// Damage of a chunk's row is noticed by it, as SQLite has no hashes of its pages.
int64_t hash_of_chunk(int64_t document, int64_t first, int64_t end, std::string_view headings,
                      std::string_view text);

}  // namespace ruv
