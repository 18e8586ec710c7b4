// The tables of a store.
#pragma once

#include <string_view>

#include "memory/chunks.h"
#include "memory/database.h"

namespace ruv {

inline constexpr int64_t kStoreVersion = 3;

// Makes the tables of a new file, or what those of an older version lack, in one transaction.
// Fails: unsupported (of a newer version), corrupt (another program's file), as Database.
Status prepare_schema(Database& database, const std::string& path);
// The same, but changes nothing. Fails: not_found too (a file without tables).
Status check_schema(const Database& database, const std::string& path);

// Damage of a chunk's row is noticed by it, as SQLite has no hashes of its pages. A chunk without a
// page has the hash that version 1 gave it.
int64_t hash_of_chunk(int64_t document, const TextChunk& chunk, std::string_view text);

}  // namespace ruv
