// SequenceState: the running state of one sequence in the layers that keep one. A step reads the
// state before its first row and writes the state after some of its rows to other frames, so that a
// step that is given up, and drafts that turn out wrong, change nothing. Where the sequence passes
// the end of a page, the state there may become that page's checkpoint, at which other sequences
// resume. Nothing is copied: at the end of a page the sequence continues from the checkpoint.
//
// States may be megabytes, so a text keeps few checkpoints: those at least
// KvReach::checkpoint_pages apart, that at the end of its prompt, and its newest.
#pragma once

#include <span>
#include <vector>

#include "cache/page_frames.h"
#include "device/batch.h"

namespace ruv {

// Rows of a step: n_known from position `first`, and n_drafts after them. Later steps compute the
// n_after tokens that are known besides.
struct StepRows {
  int64_t first = 0;
  int64_t n_known = 0;
  int64_t n_drafts = 0;
  int64_t n_after = 0;
};

class SequenceState {
 public:
  // `frames`: of the states' group; must outlive this object. Null: no layer keeps a state, and all
  // functions do nothing.
  explicit SequenceState(PageFrames* frames) : frames_(frames) {}
  SequenceState(SequenceState&& other) noexcept;
  SequenceState& operator=(SequenceState&&) = delete;
  ~SequenceState() { clear(); }

  // Plans a step. The first one begins at the checkpoint of the page before, or at a zero state.
  // Requires: that page has a checkpoint, pinned by the caller as long as it is the newest one.
  void plan(const StepRows& rows, std::span<const PageId> pages);
  // Whether a step was planned since the beginning or clear().
  bool has_begun() const { return has_begun_; }
  FrameId before() const { return before_; }
  std::span<const StateOut> after() const { return after_; }

  // Indices of pages; -1: none.
  struct Passed {
    int64_t newest = -1;   // has got a checkpoint, not pinned
    int64_t useless = -1;  // has a checkpoint that need not be kept
  };
  // The planned step is over and the sequence has n_computed tokens.
  Passed finish(int64_t n_computed, std::span<const PageId> pages);
  void clear();

 private:
  int64_t boundary_before(int64_t n) const;
  bool is_last(int64_t page) const;
  bool wants_checkpoint(int64_t page) const;
  Passed pass(int64_t page, bool is_own);
  void give_back_after();

  PageFrames* frames_;
  bool has_begun_ = false;
  FrameId loose_ = -1;      // the state after all computed tokens; -1: the newest checkpoint is
  FrameId before_ = -1;     // what the planned step reads: one of the two
  StepRows rows_;           // of the planned step
  bool in_prompt_ = false;  // whose last known row is not an answer's
  std::vector<StateOut> after_;  // of the planned step, by row

  // Checkpoints of this text, by index of their pages; -1: the start of the text.
  int64_t newest_ = -1;
  int64_t kept_ = -1;  // the newest that stays, from which distances count
};

}  // namespace ruv
