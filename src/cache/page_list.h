// PageList: the pages of one sequence, in order of position. Each is held once; they go back to the
// pool when the list goes.
#pragma once

#include <utility>

#include "cache/page_pool.h"

namespace ruv {

class PageList {
 public:
  explicit PageList(PagePool& pool) : pool_(&pool) {}
  PageList(PageList&& other) noexcept
      : pool_(other.pool_), pages_(std::exchange(other.pages_, {})) {}
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
  // Takes a free page for the tokens of `from`, which it copies; false when none is free.
  bool append_copy(PageId from, const KvPages& memory);
  void clear();

 private:
  PagePool* pool_;
  std::vector<PageId> pages_;
};

}  // namespace ruv
