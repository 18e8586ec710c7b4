// PrefixCache: what sequences leave behind for those that begin alike: the prefix tree in memory
// and its pages on disk. A sequence takes the longest beginning that is kept, at any token: whole
// pages are shared, the last one is copied, as the sequence goes on writing there.
#pragma once

#include "cache/prefix_tree.h"
#include "engine/sequence.h"
#include "ruv/kv_cache.h"

namespace ruv {

class PrefixCache {
 public:
  // `pool` and `memory` outlive it.
  PrefixCache(PagePool& pool, const KvPages& memory, bool keeps);

  // Whether prefixes are kept for it and by it.
  bool uses(const Sequence& sequence) const;
  // What a waiting sequence would take. Remembered in the sequence until the tree changes.
  const CachedPrefix& look_up(Sequence& sequence);
  // Gives a sequence without pages what is kept of its tokens, all but the last one at most.
  // False, and nothing happened: no page is left to copy the last, partly used page to.
  bool share(Sequence& sequence, int64_t now_ns);
  // Keeps what the sequence has computed. Its pages may be exchanged for equal ones.
  void keep(Sequence& sequence);
  // Evicts until n pages are free; false where that many cannot be.
  bool make_room(int64_t n_pages);

  const PrefixTree& tree() const { return tree_; }
  void fill(KvCacheStats& stats) const;

 private:
  void match(const Sequence& sequence);

  PagePool* pool_;
  const KvPages* memory_;
  bool keeps_;
  PrefixTree tree_;
  PrefixTree::Match match_;
  int64_t n_changes_ = 1;
  int64_t lookups_ = 0;
  int64_t hits_ = 0;
  int64_t prompt_tokens_ = 0;
  int64_t reused_tokens_ = 0;
};

}  // namespace ruv
