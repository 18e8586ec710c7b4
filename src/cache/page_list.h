// PageList: the pages of one sequence, in order of position. Each is held once; they go back to the
// pool when the list goes.
#pragma once

#include <utility>

#include "base/threads.h"
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
  // For exchanging a page for an equal one, with the list's hold on it.
  std::span<PageId> exchangeable() { return pages_; }
  int64_t n_pages() const { return static_cast<int64_t>(pages_.size()); }
  // Pages missing to hold n_tokens.
  int64_t missing_for(int64_t n_tokens) const;
  // Grows to hold n_tokens, clearing new pages; false and unchanged when too few are free.
  bool grow(int64_t n_tokens, const KvPages& memory);
  // Holds a page that others hold too, as the next one.
  void share(PageId page);
  // Takes a free page for the tokens of `from`, which it copies; false when none is free. Where
  // `from` has a tail so has the copy, pinned.
  bool append_copy(PageId from, const KvPages& memory);
  // Pins the tails that rows at positions [first, end) read and write, from the begin of first's
  // group on, and no others. Nothing where the type has no tails. Requires: pages for all of them;
  // those with tokens of that group before `first` have their tails.
  void pin_tails(int64_t first, int64_t end);
  // Behind a step after which n_tokens are there: what their group needs stays pinned, and one page
  // that drafts began.
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
