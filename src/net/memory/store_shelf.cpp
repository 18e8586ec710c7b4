#include "net/memory/store_shelf.h"

#include <algorithm>

#include "base/file.h"
#include "base/tree.h"

namespace ruv {

StoreShelf::OpenStore::~OpenStore() {
  store.reset();
  // What cannot be removed is removed at the next start of the server.
  if (is_dropped) (void)remove_tree(folder);
}

StoreShelf::Lease StoreShelf::lease_of(const std::shared_ptr<OpenStore>& one) {
  return Lease(one, one->store.get());
}

// A store has a lock on its folder: it must be closed before it is opened again, so both happen
// under the mutex. Its links are made by one thread, as the engine has the others.
Result<StoreShelf::Lease> StoreShelf::open(const std::string& folder,
                                           const MemoryStore::Kind& kind) {
  MemoryStoreOptions options;
  options.folder = folder;
  options.embedder = kind.embedder;
  options.n_dims = kind.n_dims;
  options.probe = kind.probe;
  options.syncs = options_.syncs;
  options.key = options_.key;
  WorkerPool pool(1);
  const auto one = std::make_shared<OpenStore>();
  one->folder = folder;
  one->store = TRY(MemoryStore::open(options, pool));
  open_.push_front(one);
  close_some();
  return lease_of(one);
}

StoreShelf::Lease StoreShelf::take(const std::string& folder) {
  const auto at =
      std::ranges::find_if(open_, [&](const auto& one) { return one->folder == folder; });
  if (at == open_.end()) return nullptr;
  open_.splice(open_.begin(), open_, at);
  return lease_of(open_.front());
}

// Leases are taken under the mutex alone, so a store that only the shelf has is not in use, and
// nothing changes it.
void StoreShelf::close_some() {
  int64_t n = 0, n_bytes = 0;
  for (auto at = open_.begin(); at != open_.end();) {
    if (at->use_count() > 1) {
      ++at;
      continue;
    }
    const int64_t its_bytes = (*at)->store->n_bytes();
    if (n >= options_.max_open || n_bytes + its_bytes > options_.max_bytes) {
      at = open_.erase(at);
      continue;
    }
    ++n;
    n_bytes += its_bytes;
    ++at;
  }
}

Result<StoreShelf::Lease> StoreShelf::find(const std::string& folder) {
  const std::lock_guard held(mutex_);
  if (Lease store = take(folder)) return store;
  if (dropped_.contains(folder) || !file_exists(folder + "/store.db")) return Lease();
  const MemoryStore::Kind kind = TRY(MemoryStore::kind_of(folder, options_.key));
  // It was not made to its end.
  if (kind.n_dims == 0) return Lease();
  return open(folder, kind);
}

Result<StoreShelf::Lease> StoreShelf::make(const std::string& folder,
                                           const MemoryStore::Kind& kind) {
  const std::lock_guard held(mutex_);
  if (dropped_.contains(folder)) return fail(Code::not_found, "the store was deleted");
  MemoryStore::Kind found = kind;
  Lease store = take(folder);
  if (store != nullptr) found = store->kind();
  if (store == nullptr && file_exists(folder + "/store.db")) {
    MemoryStore::Kind on_disk = TRY(MemoryStore::kind_of(folder, options_.key));
    if (on_disk.n_dims != 0) found = std::move(on_disk);
  }
  if (!MemoryStore::is_same_model(found, kind)) {
    return fail(Code::invalid,
                "what is in memory here was embedded by another model: {}; this one is {}",
                found.embedder, kind.embedder);
  }
  if (store != nullptr) return store;
  return open(folder, found);
}

void StoreShelf::drop(const std::string& folder) {
  const std::lock_guard held(mutex_);
  dropped_.insert(folder);
  const auto at =
      std::ranges::find_if(open_, [&](const auto& one) { return one->folder == folder; });
  if (at == open_.end()) {
    (void)remove_tree(folder);
    return;
  }
  (*at)->is_dropped = true;
  open_.erase(at);
}

int64_t StoreShelf::n_open() const {
  const std::lock_guard held(mutex_);
  return std::ssize(open_);
}

}  // namespace ruv
