// MemoryCatalog: what a server's memory knows besides its stores: whose they are, the vector
// stores, uploaded files and which of them are in which store. One file of SQLite; what is not in
// it does not exist, whatever lies in the folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/thread.h"
#include "memory/database.h"

namespace ruv {

// A text that a client sent to /v1/files.
struct CatalogFile {
  std::string id = {};
  std::string name = {};
  std::string purpose = {};
  int64_t created_s = 0;  // seconds since 1970, UTC, as all times here
  int64_t n_bytes = 0;
  int64_t expires_s = 0;  // 0: never
};

struct CatalogStore {
  std::string id = {};
  std::string name = {};
  std::string description = {};
  Json metadata = Json::object();
  int64_t created_s = 0;
  int64_t active_s = 0;      // when it was last used
  int64_t expires_days = 0;  // after that; 0: never
  int64_t n_files = 0, n_bytes = 0;

  int64_t expires_s() const { return expires_days == 0 ? 0 : active_s + expires_days * 86'400; }
};

// A file in a store.
struct CatalogEntry {
  std::string file = {};  // its id
  std::string name = {};
  int64_t created_s = 0;
  int64_t n_bytes = 0;
  // Tokens of a chunk at most, and those that it repeats of the one before; 0 and 0: the server
  // chose.
  int64_t chunk_tokens = 0, overlap_tokens = 0;
};

// Files that were added to a store together.
struct CatalogBatch {
  std::string id = {};
  int64_t created_s = 0;
  int64_t n_files = 0;
};

// A part of a list: newest first unless `ascending`.
struct CatalogPage {
  std::string after = {};   // the id of the one before the first; empty: from the start
  std::string before = {};  // the id of the one after the last; empty: to the end
  int64_t limit = 20;
  bool ascending = false;
};

// All functions may be called from any thread. Fail: as Database::run.
class MemoryCatalog {
 public:
  // Makes the file where it is missing. Fails: corrupt, unsupported (another file, or of a newer
  // version). With keys the file is encrypted.
  static Result<std::unique_ptr<MemoryCatalog>> open(const std::string& path, bool syncs,
                                                     SharedStoreKeys keys = nullptr);

  // A number for a tenant, the same each time and from 1.
  Result<int64_t> tenant(std::string_view name);

  // False: all files of the tenant would have more than `max_bytes` together, and it was not added.
  // Fails: invalid (the id is taken), as all that adds.
  Result<bool> add_file(int64_t tenant, const CatalogFile& file, std::string_view content,
                        int64_t max_bytes);
  Result<std::optional<CatalogFile>> file(int64_t tenant, std::string_view id);
  // Empty where there is none.
  Result<std::string> content(int64_t tenant, std::string_view id);
  // `purpose`: empty: any.
  Result<std::vector<CatalogFile>> files(int64_t tenant, const CatalogPage& page,
                                         std::string_view purpose);
  // Ids of a tenant's files that have expired.
  Result<std::vector<std::string>> expired_files(int64_t tenant, int64_t now_s);
  Result<bool> remove_file(int64_t tenant, std::string_view id);

  Status add_store(int64_t tenant, const CatalogStore& store);
  Result<std::optional<CatalogStore>> store(int64_t tenant, std::string_view id);
  Result<std::vector<CatalogStore>> stores(int64_t tenant, const CatalogPage& page);
  // Name, description, metadata, and when it expires.
  Status change_store(const CatalogStore& store);
  Status touch_store(std::string_view id, int64_t now_s);
  Result<bool> remove_store(int64_t tenant, std::string_view id);
  // Ids, whichever tenant has them.
  Result<std::vector<std::string>> all_stores();

  // In place of an entry of the same file.
  Status add_entry(std::string_view store, const CatalogEntry& entry);
  Result<std::optional<CatalogEntry>> entry(std::string_view store, std::string_view file);
  // Files of a batch alone, unless that is empty.
  Result<std::vector<CatalogEntry>> entries(std::string_view store, const CatalogPage& page,
                                            std::string_view batch = {});
  Result<bool> remove_entry(std::string_view store, std::string_view file);
  // Those that have the file.
  Result<std::vector<std::string>> stores_of(std::string_view file);

  // Batches go with their store.
  Status add_batch(std::string_view store, const CatalogBatch& batch,
                   std::span<const std::string> files);
  Result<std::optional<CatalogBatch>> batch(std::string_view store, std::string_view id);

 private:
  explicit MemoryCatalog(Database database) : database_(std::move(database)) {}
  Result<bool> remove(std::string_view statement, int64_t tenant, std::string_view id);
  Result<std::vector<std::string>> texts(std::string_view query, std::string_view parameter);

  Mutex using_;  // the database
  Database database_;
};

}  // namespace ruv
