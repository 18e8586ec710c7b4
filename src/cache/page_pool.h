// PagePool: which pages of KvPages are free, who holds the others. Pages are taken in two phases:
// reserve gives all that a step needs or nothing; release gives back. Reference counts let several
// holders share a page; the prefix tree is a holder that can be asked to let go (docs/pages.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cache/tail_slots.h"
#include "device/kv_pages.h"

namespace ruv {

class PagePool {
 public:
  // `tails`: of pages of a tiered type, which outlive the pool; null where pages are all there is.
  explicit PagePool(int64_t n_pages, TailSlots* tails = nullptr);

  int64_t n_pages() const { return static_cast<int64_t>(references_.size()); }
  int64_t n_free() const { return static_cast<int64_t>(free_.size()); }
  int32_t references(PageId page) const { return references_[static_cast<size_t>(page)]; }
  bool cached(PageId page) const { return cached_[static_cast<size_t>(page)] != 0; }
  // Pages that the prefix tree holds, alone or with others.
  int64_t n_cached() const { return n_cached_; }
  // Pages that the prefix tree holds and nobody else: it can let all of them go.
  int64_t n_evictable() const { return n_evictable_; }
  // Pages that somebody besides the tree holds: neither free nor evictable.
  int64_t n_held() const { return n_pages() - n_free() - n_evictable(); }
  // The most pages ever held at once, for sizing.
  int64_t n_held_max() const { return n_held_max_; }
  TailSlots* tails() const { return tails_; }

  // Appends n pages, each with one reference, to `out`; false and nothing taken when fewer are
  // free. Never allocates beyond out's growth. Requires: n >= 0.
  bool reserve(int64_t n, std::vector<PageId>& out);
  // One more holder of a page that has one.
  void share(PageId page);
  // One holder less; a page without holders is free again, and has no tail any more.
  void release(PageId page);
  // A sequence takes an equal page for one that it holds; tails and pins of them go along.
  // Requires: nobody else holds `held`, where it has a tail.
  void exchange(PageId& held, PageId equal);
  // The tree becomes a holder of a page that has one, at most once; and lets go.
  void cache(PageId page);
  void uncache(PageId page);

  // Checks that free and held pages add up, that no page is free twice, and all counters. For
  // tests and simulation; O(n_pages).
  bool consistent() const;

 private:
  std::vector<int32_t> references_;
  std::vector<uint8_t> cached_;  // the tree is one of the holders
  std::vector<PageId> free_;
  TailSlots* tails_;
  int64_t n_evictable_ = 0;
  int64_t n_held_max_ = 0;
  int64_t n_cached_ = 0;
};

}  // namespace ruv
