// PageList: the pages of one sequence, in order of position. The list is one holder of each page
// and releases them when it is destroyed. Not thread-safe, like the pool.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/range.h"
#include "cache/page_pool.h"
#include "cache/sequence_state.h"
#include "device/batch_builder.h"

namespace ruv {

class PageList {
 public:
  explicit PageList(PagePool& pool)
      : pool_(&pool), pinned_(pool.frames().size()), state_(pool.states()) {}
  PageList(PageList&& other) noexcept
      : pool_(other.pool_),
        pages_(std::exchange(other.pages_, {})),
        pinned_(std::exchange(other.pinned_, {})),
        state_(std::move(other.state_)) {}
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
  // Appends a free page as a copy of `from`; false when none is free. Where `from` has a frame, so
  // does the copy, pinned.
  bool append_copy(PageId from, KvPages& memory);
  // Pins exactly the frames that rows at positions [first, end) read and write. Requires: pages for
  // all of them; those that the row at `first` reads have their frames. `end` may be the end of the
  // page before `first`, whose own page is then about to be appended as a copy.
  void pin(int64_t first, int64_t end);
  // Begins the sequence in `batch` for known rows, then drafts that may turn out wrong: pins what
  // they read and write, and plans the running states after the last known row and each draft. The
  // rows must then be added. finish_step() takes the states after n_computed tokens, once the step
  // is over.
  void begin_step(BatchBuilder& batch, const StepRows& rows);
  void finish_step(int64_t n_computed);
  // After a step, with n_tokens in the list: keeps pinned what the next row reads and at most one
  // page that drafts began.
  void trim(int64_t n_tokens);
  // Pages pinned in group `group` of PagePool::frames().
  int64_t n_pinned(size_t group) const {
    return group < pinned_.size() ? pinned_[group].end - pinned_[group].begin : 0;
  }
  void clear();

 private:
  void pin(size_t group, Range wanted);
  void unpin(size_t group, int64_t i, bool passed);

  PagePool* pool_;
  std::vector<PageId> pages_;
  std::vector<Range> pinned_;  // by group: pages whose frames the list has pinned
  SequenceState state_;
};

}  // namespace ruv
