#include "cache/sequence_state.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace ruv {

SequenceState::SequenceState(SequenceState&& other) noexcept
    : frames_(other.frames_),
      has_begun_(std::exchange(other.has_begun_, false)),
      loose_(std::exchange(other.loose_, -1)),
      before_(std::exchange(other.before_, -1)),
      rows_(other.rows_),
      in_prompt_(other.in_prompt_),
      after_(std::exchange(other.after_, {})),
      newest_(other.newest_),
      kept_(other.kept_) {}

// The page of the checkpoint may have been exchanged for an equal one since the last step.
void SequenceState::plan(const StepRows& rows, std::span<const PageId> pages) {
  if (frames_ == nullptr) return;
  give_back_after();
  after_.reserve(static_cast<size_t>(rows.n_drafts) + 2);
  // A step that was given up is planned again.
  const bool continues_prompt = rows.first == rows_.first ? in_prompt_ : rows_.n_after > 0;
  in_prompt_ = rows.n_known > 1 || (has_begun_ && continues_prompt);
  rows_ = rows;
  if (!has_begun_) {
    CHECK(rows.first % kPageTokens == 0);
    newest_ = kept_ = rows.first / kPageTokens - 1;
    if (newest_ < 0) loose_ = frames_->take_zeroed();
    has_begun_ = true;
  }
  before_ = loose_ >= 0 ? loose_ : frames_->frame_of(pages[static_cast<size_t>(newest_)]);
  CHECK(before_ >= 0);
  const int64_t end = rows.first + rows.n_known;
  const int64_t boundary = boundary_before(end);
  if (boundary > rows.first && boundary < end && wants_checkpoint(boundary / kPageTokens - 1)) {
    after_.push_back({boundary - 1 - rows.first, frames_->take_loose()});
  }
  for (int64_t i = 0; i <= rows.n_drafts; ++i) {
    after_.push_back({rows.n_known - 1 + i, frames_->take_loose()});
  }
}

// The newest end of a page at which n tokens can be resumed: a prompt that is asked again computes
// its last token again.
int64_t SequenceState::boundary_before(int64_t n) const {
  const bool ends_prompt = in_prompt_ && rows_.n_after == 0 && n == rows_.first + rows_.n_known;
  return (ends_prompt ? n - 1 : n) / kPageTokens * kPageTokens;
}

// Whether the page is the last one of what is known. Where an answer ends is known afterwards
// only, so each of its pages may be that.
bool SequenceState::is_last(int64_t page) const {
  const int64_t n_known = rows_.first + rows_.n_known + rows_.n_after;
  return page >= (n_known - 1) / kPageTokens - 1;
}

bool SequenceState::wants_checkpoint(int64_t page) const {
  return is_last(page) || page - kept_ >= frames_->reach().checkpoint_pages;
}

SequenceState::Passed SequenceState::finish(int64_t n_computed, std::span<const PageId> pages) {
  if (frames_ == nullptr || after_.empty()) return {};
  const auto after_row = [&](int64_t row) {
    return std::ranges::find_if(after_, [&](const StateOut& out) { return out.row == row; });
  };
  const auto last = after_row(n_computed - 1 - rows_.first);
  CHECK(last != after_.end());
  const int64_t boundary = boundary_before(n_computed);
  const int64_t page = boundary / kPageTokens - 1;
  const auto at = boundary > rows_.first ? after_row(boundary - 1 - rows_.first) : after_.end();
  Passed passed;
  const FrameId old = std::exchange(loose_, -1);
  if (at != last) loose_ = std::exchange(last->frame, -1);
  if (at != after_.end() && wants_checkpoint(page)) {
    const FrameId frame = std::exchange(at->frame, -1);
    passed = pass(page, frames_->attach(frame, pages[static_cast<size_t>(page)]));
  } else if (at == last) {
    loose_ = std::exchange(last->frame, -1);
  }
  if (old >= 0) frames_->give_back(old);
  give_back_after();
  return passed;
}

// The checkpoint before this one is of no more use if it was kept only as the newest. A checkpoint
// that another sequence made stays.
SequenceState::Passed SequenceState::pass(int64_t page, bool is_own) {
  const Passed passed = {page, newest_ > kept_ ? newest_ : -1};
  const bool ends_prompt = is_last(page) && in_prompt_;
  newest_ = page;
  if (!is_own || ends_prompt || page - kept_ >= frames_->reach().checkpoint_pages) kept_ = page;
  return passed;
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
  if (loose_ >= 0) frames_->give_back(std::exchange(loose_, -1));
  before_ = -1;
  has_begun_ = false;
}

}  // namespace ruv
