#include "cache/page_list.h"

#include <algorithm>

#include "base/check.h"

namespace ruv {
int64_t PageList::missing_for(int64_t n_tokens) const {
  return std::max<int64_t>(0, pages_for(n_tokens) - n_pages());
}

// Takes all missing pages or none.
bool PageList::grow(int64_t n_tokens, KvPages& memory) {
  const size_t before = pages_.size();
  if (!pool_->reserve(missing_for(n_tokens), pages_)) return false;
  for (size_t i = before; i < pages_.size(); ++i) memory.clear(pages_[i]);
  return true;
}

void PageList::share(PageId page) {
  pages_.push_back(page);
  pool_->share(page);
}

bool PageList::append_copy(PageId from, KvPages& memory) {
  if (!pool_->reserve(1, pages_)) return false;
  const int64_t last = n_pages() - 1;
  for (size_t group = 0; group < pinned_.size(); ++group) {
    PageFrames& frames = pool_->frames()[group];
    if (!frames.has(from) || frames.reach().is_state()) continue;
    Range& pinned = pinned_[group];
    CHECK(n_pinned(group) == 0 || pinned.end == last);
    pinned = {n_pinned(group) == 0 ? last : pinned.begin, n_pages()};
    frames.pin(from);  // the copy's frame must not be taken from it
    frames.pin(pages_.back());
    frames.unpin(from, false);
  }
  memory.copy(from, pages_.back());
  return true;
}

// Unpins the last page first: if frames are evicted, the beginning of what a row reads is still
// useful without its end.
void PageList::unpin(size_t group, int64_t i, bool passed) {
  pool_->frames()[group].unpin(pages_[static_cast<size_t>(i)], passed);
}

// Works on ranges: pages that stay pinned are not touched.
void PageList::pin(size_t group, Range wanted) {
  const auto outside = [](int64_t i, Range range) { return i < range.begin || i >= range.end; };
  const Range pinned = std::exchange(pinned_[group], wanted);
  for (int64_t i = pinned.end - 1; i >= pinned.begin; --i) {
    if (outside(i, wanted)) unpin(group, i, true);
  }
  for (int64_t i = wanted.begin; i < wanted.end; ++i) {
    if (outside(i, pinned)) pool_->frames()[group].pin(pages_[static_cast<size_t>(i)]);
  }
}

void PageList::pin(int64_t first, int64_t end) {
  for (size_t group = 0; group < pinned_.size(); ++group) {
    const PageFrames& frames = pool_->frames()[group];
    const bool is_state = frames.reach().is_state();
    if (is_state && state_.has_begun()) continue;  // it has begun: no row reads a checkpoint
    const int64_t begin = frames.reach().first_page(first);
    const int64_t own = pages_for(std::min(first, end));
    for (int64_t i = begin; i < own; ++i) CHECK(frames.has(pages_[static_cast<size_t>(i)]));
    pin(group, {begin, is_state ? own : pages_for(end)});
  }
}

void PageList::begin_step(BatchBuilder& batch, const StepRows& rows) {
  pin(rows.first, rows.first + rows.n_known + rows.n_drafts);
  state_.plan(rows, pages_);
  batch.begin_sequence(rows.first, pages_);
  batch.set_state(state_.before(), state_.after());
}

// The newest checkpoint stays pinned until there is a newer one.
void PageList::finish_step(int64_t n_computed) {
  const SequenceState::Passed passed = state_.finish(n_computed, pages_);
  if (passed.newest < 0) return;
  for (size_t group = 0; group < pinned_.size(); ++group) {
    PageFrames& frames = pool_->frames()[group];
    if (!frames.reach().is_state()) continue;
    pin(group, {passed.newest, passed.newest + 1});
    if (passed.useless >= 0) frames.discard(pages_[static_cast<size_t>(passed.useless)]);
  }
}

void PageList::trim(int64_t n_tokens) {
  for (size_t group = 0; group < pinned_.size(); ++group) {
    if (n_pinned(group) == 0 || pool_->frames()[group].reach().is_state()) continue;
    const int64_t end = std::min(pinned_[group].end, pages_for(n_tokens) + 1);
    pin(group, {pool_->frames()[group].reach().first_page(n_tokens), end});
  }
}

void PageList::clear() {
  state_.clear();
  for (size_t group = 0; group < pinned_.size(); ++group) {
    const KvReach& reach = pool_->frames()[group].reach();
    const Range pinned = std::exchange(pinned_[group], Range{0, 0});
    for (int64_t i = pinned.end - 1; i >= pinned.begin; --i) {
      // The newest checkpoint is where the text will be resumed, also before a page of drafts.
      const bool passed = i < reach.first_page((n_pages() - 1) * kPageTokens);
      unpin(group, i, passed && !reach.is_state());
    }
  }
  for (PageId page : pages_) pool_->release(page);
  pages_.clear();
}

}  // namespace ruv
