// DraftVerifier: turns the logits of a step into tokens. All rows are chosen by all threads
// together; the rows after a sequence's first are drafts, which count as long as each is what the
// row before it chose.
#pragma once

#include <span>

#include "base/clock.h"
#include "engine/speculator.h"
#include "engine/step_choices.h"
#include "engine/step_packer.h"

namespace ruv {

class DraftVerifier {
 public:
  // All outlive it. At most max_outputs rows of logits in a step.
  DraftVerifier(Executor& executor, Speculator& speculator, const Clock& clock, int64_t max_outputs,
                int64_t n_vocab);

  // What can be decided before the step has logits: which tokens constraints allow in its rows. A
  // sequence for which memory runs out meanwhile gets no choices. Throws std::bad_alloc. Requires:
  // `rows` stay until the work is done.
  HostWork begin(std::span<const PackedRows> rows);
  // Chooses the tokens after all rows that gave logits for that, and scores prompts by the others.
  // Requires: the work of begin() is done.
  void choose(std::span<const PackedRows> rows, HostRows logits);
  // Reports the tokens of one sequence and returns how many drafted ones were right. Where memory
  // is out, the sequence ends with out_of_memory. Requires: its rows gave logits, and `choose` was
  // called.
  int64_t accept(const PackedRows& rows, int64_t now_ns);
  // What masks took in the steps whose tokens were chosen.
  const MaskTimes& mask_times() const { return mask_times_; }

 private:
  // A sequence whose constraint is asked beside the step.
  struct Masked {
    Sequence* sequence;
    bool failed = false;  // memory ran out
    int64_t ns = 0;       // that it took
  };
  void build_masks(Masked& masked) const;

  Executor* executor_;
  Speculator* speculator_;
  const Clock* clock_;
  std::vector<Masked> masked_;  // in the order of the step's rows
  StepChoices choices_;
  MaskTimes mask_times_;
};

}  // namespace ruv
