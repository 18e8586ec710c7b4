// PrefixCache: what sequences leave behind for those that begin alike: the prefix tree in memory
// and its pages on disk. A sequence takes the longest beginning that is kept, at any token: whole
// pages are shared, the last one is copied, as the sequence goes on writing there.
#pragma once

#include "cache/prefix_tree.h"
#include "engine/disk_tier.h"
#include "engine/sequence.h"
#include "ruv/kv_cache.h"

namespace ruv {

// The pages of a tenant's quota; 0: none.
int64_t tenant_pages(const KvCacheConfig& config);

// None of it throws std::bad_alloc: where memory is out, less is kept and found.
class PrefixCache {
 public:
  // `pool` and `memory` outlive it.
  // `store`: null where nothing is kept on disk.
  PrefixCache(PagePool& pool, const KvPages& memory, const KvCacheConfig& config,
              std::unique_ptr<PageStore> store);

  // Whether prefixes are kept for it and by it.
  bool uses(const Sequence& sequence) const;
  // What a waiting sequence would take. Remembered in the sequence until the tree changes.
  const CachedPrefix& look_up(Sequence& sequence);
  // Gives a sequence without pages what is kept of its tokens, all but the last one at most.
  // Without a page to copy a partly used one to, only whole pages.
  void share(Sequence& sequence, int64_t now_ns);
  // Keeps what the sequence has computed. Its pages may be exchanged for equal ones.
  void keep(Sequence& sequence);
  // Begins to bring back what is only on disk of the beginning of a sequence that will start.
  // False: there is nothing, or no room; else poll tells when it is over.
  bool begin_restore(const Sequence& sequence);
  // Takes results of the disk and gives it work; calls on_restored(id) for each restore that is
  // over.
  void poll(const std::function<void(RequestId)>& on_restored);
  bool has_results() const { return disk_ != nullptr && disk_->has_results(); }
  bool is_restoring() const { return disk_ != nullptr && disk_->n_restoring() > 0; }
  void set_on_result(const std::function<void()>& on_result);

  // Evicts until n pages are free; false where that many cannot be.
  bool make_room(int64_t n_pages);

  const PrefixTree& tree() const { return tree_; }
  void fill(KvCacheStats& stats) const;

 private:
  void match(const Sequence& sequence);
  void cut_match(int64_t n_pages);
  int64_t n_changes() const;
  void hold_match(Sequence& sequence);
  bool plan_restore(const Sequence& sequence, Restore& restore);
  bool hold_for_restore(Restore& restore);

  PagePool* pool_;
  const KvPages* memory_;
  bool keeps_;
  int64_t disk_max_bytes_;
  PrefixTree tree_;
  std::unique_ptr<DiskTier> disk_;
  PrefixTree::Match match_;
  int64_t n_changes_ = 1;
  int64_t lookups_ = 0;
  int64_t hits_ = 0;
  int64_t prompt_tokens_ = 0;
  int64_t reused_tokens_ = 0;
};

}  // namespace ruv
