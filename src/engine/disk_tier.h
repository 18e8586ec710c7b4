// DiskTier: moves pages between memory and the page store on a thread of its own, so that no step
// waits for a disk. The engine's thread owns the prefix tree and the pool. It hands out work, and
// holds the pages concerned until the result is back.
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "base/clock.h"
#include "base/thread.h"
#include "cache/page_store.h"
#include "cache/prefix_tree.h"
#include "device/kv_pages.h"
#include "ruv/kv_cache.h"

namespace ruv {

// A prefix whose pages are known, to be restored for a sequence before it starts.
struct Restore {
  uint64_t id = 0;
  std::string scope;
  std::vector<PrefixCell> cells;  // of the pages, kPageTokens each
  std::vector<PageId> pages;      // all held; empty ones where there is a record to read
  // The pages in memory of the same cells, also held where an empty one is read: holders of a page
  // of the tree hold those before it.
  std::vector<PageId> in_memory;
  std::vector<int64_t> records;         // -1: in memory already
  std::vector<KvPages::Groups> groups;  // what is read of the record
  int64_t n_done = 0;                   // leading pages that have their bytes
};

class DiskTier {
 public:
  // `store` must have been opened for pages of `memory`. All references must outlive the tier.
  DiskTier(std::unique_ptr<PageStore> store, PagePool& pool, KvPages& memory, PrefixTree& tree,
           const Clock& clock, std::function<void(std::string_view)> note);
  // Writes what is unwritten, for at most a few seconds.
  ~DiskTier();

  // The following are for the engine's thread. begin() takes `restore` and reads those of its pages
  // that have records; poll() returns the result. On std::bad_alloc nothing has happened.
  void begin(Restore& restore);
  // Gets frames for the pages that are read, in the windows that they are read for; false, with
  // nothing changed, where there are too few. give_up() releases them, and all pages, of a restore
  // that does not begin.
  bool hold_frames(const Restore& restore);
  void give_up(const Restore& restore);
  // Applies results: written and dropped records become known to the tree, restored pages become
  // the tree's. Then hands out the next pages to write. Calls on_restored(id) for each finished
  // restore.
  void poll(const std::function<void(uint64_t)>& on_restored);
  int64_t n_restoring() const { return n_restoring_; }
  // Whether a record has the running states at the end of its page. Thread-safe.
  bool has_state(int64_t record) const { return store_->has_state(record); }

  // Whether poll would do something. Thread-safe.
  bool has_results() const;
  // Called on the tier's thread when a result is ready; never again after this returns.
  void set_on_result(std::function<void()> on_result);

  void fill(KvCacheStats& stats) const;

 private:
  struct Write {
    PrefixTree::WriteBatch batch;
    std::vector<KvPages::Groups> groups;  // that each page has, held for writing
    std::vector<int64_t> records;         // of the leading pages of the batch that were written
    bool failed = false;                  // by the disk
  };

  void work();
  void read_pages(Restore& restore);
  Status write_pages(Write& write);
  void flush();
  void tell(const Status& failure) const;
  void forget_dropped();
  void finish(Restore& restore);
  void finish(const Write& write);
  KvPages::Groups hold_windows(PageId page, KvPages::Groups wanted, bool fresh);
  KvPages::Groups groups_in_memory(PageId page) const;
  void let_go(PageId page, KvPages::Groups groups);
  bool hold_for_writing(Write& write);
  void begin_write();
  bool idle() const { return n_restoring_ == 0 && !writing_; }

  std::unique_ptr<PageStore> store_;
  PagePool* pool_;
  KvPages* memory_;
  PrefixTree* tree_;
  const Clock* clock_;
  std::function<void(std::string_view)> note_;
  std::vector<std::byte> bytes_;  // of one page; the tier's thread
  std::vector<std::byte> state_;  // of one checkpoint; the same

  // The engine's thread:
  int64_t n_restoring_ = 0;
  bool writing_ = false;
  int64_t resume_ns_ = 0;  // no writes before this time, after a failure
  int64_t n_restored_pages_ = 0;
  int64_t n_failed_restores_ = 0;
  std::vector<int64_t> dropped_;  // dropped by the store and still known to the tree

  mutable Mutex mutex_;
  Condition wake_;
  Condition done_;
  std::list<Restore> to_read_;  // lists, as moving an element cannot fail
  std::list<Restore> read_;
  std::unique_ptr<Write> to_write_;
  std::unique_ptr<Write> written_;
  bool stopping_ = false;
  // A separate mutex, since on_result_ takes locks under which has_results is called.
  Mutex on_result_mutex_;
  std::function<void()> on_result_;
  Thread thread_;
};

// Opens the store for a model's pages. `layout`: all that decides their bytes besides the model.
Result<std::unique_ptr<PageStore>> open_page_store(const KvCacheConfig& config,
                                                   const uint64_t (&model_hash)[2],
                                                   const std::string& layout, const KvPages& pages);

}  // namespace ruv
