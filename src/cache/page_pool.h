// PagePool: which pages of KvPages are free, and how many holders the others have. reserve() takes
// all pages that a step needs or none; release() returns them. Several holders can share a page;
// the prefix tree is one that can be asked to let go (docs/pages.md). Only counts: contents are
// KvPages'. Used by one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cache/page_frames.h"
#include "device/kv_pages.h"

namespace ruv {

class PagePool {
 public:
  // `frames` assigns the frames of the groups that do not keep every page (KvPages::assigned), and
  // must outlive the pool.
  explicit PagePool(int64_t n_pages, std::span<PageFrames> frames = {});

  int64_t n_pages() const { return static_cast<int64_t>(references_.size()); }
  int64_t n_free() const { return static_cast<int64_t>(free_.size()); }
  int32_t references(PageId page) const { return references_[static_cast<size_t>(page)]; }
  bool cached(PageId page) const { return cached_[static_cast<size_t>(page)] != 0; }
  // Pages that the prefix tree holds, alone or with others.
  int64_t n_cached() const { return n_cached_; }
  // Pages that only the prefix tree holds: it can let all of them go.
  int64_t n_evictable() const { return n_evictable_; }
  // Pages with a holder other than the tree: neither free nor evictable.
  int64_t n_held() const { return n_pages() - n_free() - n_evictable(); }
  // The largest number of pages ever held at once, for sizing max_tokens.
  int64_t n_held_max() const { return n_held_max_; }
  std::span<PageFrames> frames() const { return frames_; }
  // The group of running states among them; null: there is none.
  PageFrames* states() const;
  // Whether a row at `position` could read the pages of a text there: the page has its frames in
  // all groups of whose reach page `i` of the text is part.
  bool readable(PageId page, int64_t i, int64_t position) const;

  // Appends n pages, each with one reference, to `out`; false and nothing taken when fewer are
  // free. Never allocates beyond out's growth. Requires: n >= 0.
  bool reserve(int64_t n, std::vector<PageId>& out);
  // Adds a holder. Requires: the page has one.
  void share(PageId page);
  // Removes a holder. A page without holders is free again and loses its frames.
  void release(PageId page);
  // Replaces the page that a sequence holds by an equal one; its frames and pins move
  // along. Requires: no other holder of `held`, if it has frames.
  void exchange(PageId& held, PageId equal);
  // The tree becomes, or stops being, a holder. Requires: the page has a holder; at most once per
  // page.
  void cache(PageId page);
  void uncache(PageId page);

  // Checks that free and held pages add up, that no page is free twice, and all counters. For
  // tests and simulation; O(n_pages).
  bool consistent() const;

 private:
  std::vector<int32_t> references_;
  std::vector<uint8_t> cached_;  // the tree is one of the holders
  std::vector<PageId> free_;
  std::span<PageFrames> frames_;
  int64_t n_evictable_ = 0;
  int64_t n_held_max_ = 0;
  int64_t n_cached_ = 0;
};

}  // namespace ruv
