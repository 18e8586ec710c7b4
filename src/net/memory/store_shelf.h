// StoreShelf: the stores that a server has open. Those that were not used for longest are closed
// when there are too many or they take too much memory; one that a request uses stays open.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "memory/store.h"

namespace ruv {

struct ShelfOptions {
  // Stores open at the same time, those in use apart. Opening one costs about as long as reading
  // its graph.
  int64_t max_open = 16;
  // Memory of the graphs and codes of open stores, in bytes, those in use apart.
  int64_t max_bytes = int64_t{1} << 30;
  bool syncs = false;  // as MemoryStoreOptions has it
  // The key of all stores; nothing: they are plain.
  std::optional<SealKey> key = {};
};

// All functions may be called from any thread, and wait for a disk.
class StoreShelf {
 public:
  using Lease = std::shared_ptr<MemoryStore>;

  explicit StoreShelf(const ShelfOptions& options) : options_(options) {}
  // Requires: no lease is held.
  ~StoreShelf() = default;
  StoreShelf(const StoreShelf&) = delete;

  // The store in a folder; null: there is none, or it was dropped. Fails: as MemoryStore::open.
  Result<Lease> find(const std::string& folder);
  // The same, made where there is none. Fails also: invalid (the store is of another model),
  // not_found (it was dropped).
  Result<Lease> make(const std::string& folder, const MemoryStore::Kind& kind);
  // Deletes a store, when the last request that uses it has ended; no other one finds it from now
  // on, nor can one be made in this folder.
  void drop(const std::string& folder);
  int64_t n_open() const;

 private:
  // Its files go when it is closed, as it writes to them until then.
  struct OpenStore {
    std::string folder;
    std::unique_ptr<MemoryStore> store;
    std::atomic<bool> is_dropped = false;
    ~OpenStore();
  };

  static Lease lease_of(const std::shared_ptr<OpenStore>& one);
  Result<Lease> open(const std::string& folder, const MemoryStore::Kind& kind);
  Lease take(const std::string& folder);
  void close_some();

  ShelfOptions options_;
  mutable std::mutex mutex_;  // guards all below; held while a store is opened or closed
  std::list<std::shared_ptr<OpenStore>> open_;  // the one that was used last comes first
  std::set<std::string> dropped_;               // folders
};

}  // namespace ruv
