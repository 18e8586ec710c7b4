// SequenceState: the running state of one sequence in the layers that keep one instead of tokens.
// A step reads the state before its first row and writes the state after some of its rows to other
// frames, so that a step that is given up, and drafts that turn out wrong, change nothing.
// Where the sequence passes the end of a page, the state there becomes that page's checkpoint, at
// which other sequences resume.
#pragma once

#include <span>
#include <vector>

#include "cache/page_frames.h"
#include "device/batch.h"

namespace ruv {

class SequenceState {
 public:
  // `frames`: of the states' group; must outlive this object. Null: no layer keeps a state, and all
  // functions do nothing.
  explicit SequenceState(PageFrames* frames) : frames_(frames) {}
  SequenceState(SequenceState&& other) noexcept;
  SequenceState& operator=(SequenceState&&) = delete;
  ~SequenceState() { clear(); }

  // Plans a step of n_known rows from position `first`, and n_drafts after them. The first step
  // begins at the checkpoint of the page before, or at a zero state. Requires: that page has one.
  void plan(int64_t first, int64_t n_known, int64_t n_drafts, std::span<const PageId> pages);
  FrameId before() const { return state_; }
  std::span<const StateOut> after() const { return after_; }
  // The planned step is over and the sequence has n_computed tokens. Returns the index of the page
  // that has got a checkpoint, pinned; -1: none has.
  int64_t finish(int64_t n_computed, std::span<const PageId> pages);
  void clear();

 private:
  void give_back_after();

  PageFrames* frames_;
  FrameId state_ = -1;           // after all computed tokens; -1: not begun
  int64_t first_ = 0;            // position of the planned step's first row
  std::vector<StateOut> after_;  // of the planned step, by row
};

}  // namespace ruv
