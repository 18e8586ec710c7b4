// The key of a store. Each store has a random key of its own, from which all that encrypts its
// files is derived. A file keeps it, sealed with the key of the user, so that another key of the
// user's takes the writing of that one file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/sealing.h"

namespace ruv {

// What the parts of a store are sealed with: purposes of SealKeys. Wal masks what SQLite writes
// beside the pages of its log.
enum class StorePart : uint8_t { database, wal, vectors, index };

// Keys of a store that is open. Null where one may be missing: nothing of it is encrypted.
class StoreKeys {
 public:
  explicit StoreKeys(const SealKey& store_key) : keys_(store_key, "ruvstore") {}
  const SealKey& of(StorePart part) const { return keys_[static_cast<size_t>(part)]; }

 private:
  SealKeys keys_;
};
using SharedStoreKeys = std::shared_ptr<const StoreKeys>;

// Opens the file of a key, or draws a key and writes the file where it is missing. Without `user`
// gives null. `has_data`: what the key is for is there already, which without a key's
// file is plain. Fails: invalid (encrypted and no key is given, or the other way round, or another
// key), corrupt, unsupported (a newer version), as files.
Result<SharedStoreKeys> open_store_keys(const std::string& path, const std::optional<SealKey>& user,
                                        bool has_data);
// Seals the key in a file with another key of the user's; what was sealed so already stays. Fails:
// not_found, invalid (neither key opens it), corrupt, unsupported, as files; all is as before then.
Status rewrap_store_key(const std::string& path, const SealKey& from, const SealKey& to);

}  // namespace ruv
