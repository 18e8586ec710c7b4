// ServedMemory: the documents that a server keeps for its clients. Each tenant has a store of its
// own for /v1/memory and any number of vector stores; no tenant sees what another has.
//
//   catalog.key  with a key: the catalog's (memory/store_key.h); each store has one of its own
//   catalog.db   a MemoryCatalog, which has the files that clients sent, too
//   memory-N     the MemoryStore of tenant N; "memory" is that of requests without a tenant
//   vs_…         those of vector stores
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "net/http/workers.h"
#include "net/memory/memory_catalog.h"
#include "net/memory/store_shelf.h"

namespace ruv {

struct ServedMemoryOptions {
  std::string folder;  // made where it is missing
  // The name of the model that embeds; empty: the server's first.
  std::string model = {};
  // Uploaded files of a tenant together, in bytes.
  int64_t max_file_bytes = int64_t{1} << 30;
  ShelfOptions shelf = {};
  // Makes ids of stores and files, different each time, that begin with "vs_" or "file-"; absent:
  // random ones. Called by any thread.
  std::function<std::string(std::string_view prefix)> new_id = {};
};

// All functions may be called from any thread.
class ServedMemory {
 public:
  // Deletes what an earlier server left of stores that were deleted. With shelf.key all that is
  // kept is encrypted. Fails: as MemoryCatalog::open, make_folder, open_store_keys.
  static Result<std::unique_ptr<ServedMemory>> open(const ServedMemoryOptions& options);
  // Puts another key of the user's in the place of the first, for a memory that no server has open.
  // What was interrupted is finished by the same call. Fails: unavailable (a server has it), as
  // rewrap_store_key.
  static Status change_key(const std::string& folder, const SealKey& from, const SealKey& to);
  // Whether the folder has a memory of this kind that is encrypted.
  static bool has_key(const std::string& folder);
  // Waits for the jobs that run; those that wait are dropped. Nothing of them was acknowledged.
  ~ServedMemory() = default;

  const ServedMemoryOptions& options() const { return options_; }
  bool is_encrypted() const { return options_.shelf.key.has_value(); }
  MemoryCatalog& catalog() { return *catalog_; }
  StoreShelf& shelf() { return shelf_; }
  // Threads for what follows the computing of vectors. Changes have one of their own, so that a
  // long one keeps no search of another store waiting.
  Workers& changes() { return changes_; }
  Workers& searches() { return searches_; }

  std::string new_id(std::string_view prefix) const;
  // The folder of a tenant's own store.
  Result<std::string> tenant_folder(const std::string& tenant);
  // The folder of a vector store.
  std::string store_folder(const std::string& id) const;

  // What stores keep of a model; none: its probe was not embedded yet.
  std::optional<MemoryStore::Kind> kind(const std::string& model) const;
  void set_kind(const std::string& model, const MemoryStore::Kind& kind);

 private:
  ServedMemory(const ServedMemoryOptions& options, std::unique_ptr<MemoryCatalog> catalog)
      : options_(options), catalog_(std::move(catalog)), shelf_(options.shelf) {}
  Status remove_leftovers();

  ServedMemoryOptions options_;
  std::unique_ptr<MemoryCatalog> catalog_;
  StoreShelf shelf_;
  mutable std::mutex kinds_lock_;
  std::map<std::string, MemoryStore::Kind> kinds_;
  // Destroyed first: their jobs use all else.
  Workers changes_{1}, searches_{2};
};

}  // namespace ruv
