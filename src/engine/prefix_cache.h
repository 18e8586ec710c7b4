// PrefixCache: the computed prefixes of earlier sequences: the prefix tree in memory and its pages
// on disk. A starting sequence takes the longest cached prefix of its tokens, ending at any token.
// Whole pages are shared; a partly used last page is copied, since the sequence will write into it.
// Used by the engine's thread.
#pragma once

#include "cache/prefix_tree.h"
#include "engine/disk_tier.h"
#include "engine/sequence.h"
#include "ruv/kv_cache.h"

namespace ruv {

// A tenant's quota in pages; 0: none.
int64_t tenant_pages(const KvCacheConfig& config);

// No function throws std::bad_alloc: when memory is out, less is cached and found.
class PrefixCache {
 public:
  // `pool`, `memory` and `clock` must outlive the cache. `store`: null if nothing is kept on disk.
  PrefixCache(PagePool& pool, KvPages& memory, const KvCacheConfig& config, const Clock& clock,
              std::unique_ptr<PageStore> store);

  // Whether the sequence uses the cache and contributes to it.
  bool uses(const Sequence& sequence) const;
  // What a waiting sequence would find. Cached in the sequence until the tree changes.
  const CachedPrefix& look_up(Sequence& sequence);
  // Gives a sequence without pages the cached prefix of its tokens, at most all but the last one.
  // If there is no free page to copy a partly used one to, only whole pages.
  void share(Sequence& sequence, int64_t now_ns);
  // Caches what the sequence has computed. Its pages may be exchanged for equal ones.
  void keep(Sequence& sequence);
  // Starts restoring the part of a sequence's prefix that is only on disk. False: there is none, or
  // no room; otherwise poll() reports the end.
  bool begin_restore(const Sequence& sequence);
  // Applies results from the disk and gives it new work; calls on_restored(id) for each finished
  // restore.
  void poll(const std::function<void(RequestId)>& on_restored);
  bool has_results() const { return disk_ != nullptr && disk_->has_results(); }
  bool is_restoring() const { return disk_ != nullptr && disk_->n_restoring() > 0; }
  void set_on_result(const std::function<void()>& on_result);

  // Evicts until n pages are free; false when there are not that many.
  bool make_room(int64_t n_pages);

  const PrefixTree& tree() const { return tree_; }
  void fill(KvCacheStats& stats) const;

 private:
  void match(const Sequence& sequence);
  void cut_match(int64_t n_pages);
  void cut_to_resumable(const Sequence& sequence);
  bool cut_to_edge(const Sequence& sequence);
  template <class F>
  int64_t n_resumable(const F& is_readable) const;
  int64_t n_changes() const;
  void hold_match(Sequence& sequence);
  int64_t n_restorable(const Sequence& sequence, int64_t n) const;
  bool plan_restore(const Sequence& sequence, Restore& restore);
  bool needs_state(int64_t i, int64_t position) const;
  KvPages::Groups groups_read(int64_t i, int64_t position) const;
  bool hold_for_restore(Restore& restore);

  PagePool* pool_;
  KvPages* memory_;
  bool keeps_;
  int64_t disk_max_bytes_;
  PrefixTree tree_;
  std::unique_ptr<DiskTier> disk_;
  // The cells of the sequence that was asked about last. Made again for each question, which is
  // cheap beside a match; kept in every waiting sequence they would take twice the memory of
  // tokens.
  std::vector<PrefixCell> key_;
  PrefixTree::Match match_;
  int64_t n_changes_ = 1;
  int64_t lookups_ = 0;
  int64_t hits_ = 0;
  int64_t prompt_tokens_ = 0;
  int64_t reused_tokens_ = 0;
};

}  // namespace ruv
