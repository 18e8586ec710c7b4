// PageList: the pages of one sequence, in order of position. The list is one holder of each page
// and releases them when it is destroyed. Not thread-safe, like the pool.
#pragma once

#include <utility>

#include "base/range.h"
#include "cache/page_pool.h"

namespace ruv {

class PageList {
 public:
  explicit PageList(PagePool& pool) : pool_(&pool) {}
  PageList(PageList&& other) noexcept
      : pool_(other.pool_),
        pages_(std::exchange(other.pages_, {})),
        pinned_(std::exchange(other.pinned_, {})) {}
  PageList& operator=(PageList&&) = delete;
  ~PageList() { clear(); }

  std::span<const PageId> pages() const { return pages_; }
  // For exchanging a page for an equal one; the list's hold moves with it.
  std::span<PageId> exchangeable() { return pages_; }
  int64_t n_pages() const { return static_cast<int64_t>(pages_.size()); }
  // How many pages the list lacks for n_tokens.
  int64_t missing_for(int64_t n_tokens) const;
  // Grows to hold n_tokens and clears the new pages. False, with nothing changed, when too few are
  // free.
  bool grow(int64_t n_tokens, KvPages& memory);
  // Appends a page that others hold too.
  void share(PageId page);
  // Appends a free page as a copy of `from`; false when none is free. If `from` has a tail, so does
  // the copy, pinned.
  bool append_copy(PageId from, KvPages& memory);
  // Pins exactly the tails that rows at positions [first, end) read and write, from the start of
  // first's group on. Does nothing for types without tails. Requires: pages for all of them; those
  // with tokens of that group before `first` have their tails.
  void pin_tails(int64_t first, int64_t end);
  // After a step, with n_tokens in the list: keeps pinned what their group needs and at most one
  // page that drafts began.
  void trim_tails(int64_t n_tokens);
  int64_t n_pinned() const { return pinned_.end - pinned_.begin; }
  void clear();

 private:
  void pin(Range wanted);
  void unpin(int64_t i, bool passed);

  PagePool* pool_;
  std::vector<PageId> pages_;
  Range pinned_ = {0, 0};  // pages whose tails the list has pinned
};

}  // namespace ruv
