#include "cache/sequence_state.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace ruv {

SequenceState::SequenceState(SequenceState&& other) noexcept
    : frames_(other.frames_),
      state_(std::exchange(other.state_, -1)),
      first_(other.first_),
      after_(std::exchange(other.after_, {})) {}

void SequenceState::plan(int64_t first, int64_t n_known, int64_t n_drafts,
                         std::span<const PageId> pages) {
  if (frames_ == nullptr) return;
  give_back_after();
  after_.reserve(static_cast<size_t>(n_drafts) + 2);
  if (state_ < 0) {
    const int64_t page = first / kPageTokens - 1;
    CHECK(first == (page + 1) * kPageTokens);
    state_ = frames_->take_loose(first > 0 ? pages[static_cast<size_t>(page)] : -1);
  }
  first_ = first;
  const int64_t end = first + n_known;
  const int64_t boundary = end / kPageTokens * kPageTokens;
  if (boundary > first && boundary < end) {
    after_.push_back({boundary - 1 - first, frames_->take_loose(-1)});
  }
  for (int64_t i = 0; i <= n_drafts; ++i) {
    after_.push_back({n_known - 1 + i, frames_->take_loose(-1)});
  }
}

int64_t SequenceState::finish(int64_t n_computed, std::span<const PageId> pages) {
  if (frames_ == nullptr || after_.empty()) return -1;
  const auto after_row = [&](int64_t row) {
    return std::ranges::find_if(after_, [&](const StateOut& out) { return out.row == row; });
  };
  const auto last = after_row(n_computed - 1 - first_);
  CHECK(last != after_.end());
  std::swap(state_, last->frame);
  const int64_t boundary = n_computed / kPageTokens * kPageTokens;
  int64_t page = boundary / kPageTokens - 1;
  if (boundary == n_computed) {
    frames_->keep_copy(state_, pages[static_cast<size_t>(page)]);
  } else if (const auto at = after_row(boundary - 1 - first_);
             boundary > first_ && at != after_.end()) {
    frames_->attach(std::exchange(at->frame, -1), pages[static_cast<size_t>(page)]);
  } else {
    page = -1;
  }
  give_back_after();
  return page;
}

void SequenceState::give_back_after() {
  for (const StateOut& out : after_) {
    if (out.frame >= 0) frames_->give_back(out.frame);
  }
  after_.clear();
}

void SequenceState::clear() {
  if (frames_ == nullptr) return;
  give_back_after();
  if (state_ >= 0) frames_->give_back(std::exchange(state_, -1));
}

}  // namespace ruv
