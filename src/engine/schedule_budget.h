// StepBudget: how many prompt rows a step may have, by number and by the time they take. It adapts
// to the machine and to what else is in the step, since the time comes from measured steps.
#pragma once

#include "engine/schedule.h"

namespace ruv {

class StepBudget {
 public:
  // decodes: the step without prompts. Requires: decodes.n_rows <= max_batch_tokens.
  StepBudget(const SchedulerLimits& limits, const StepCost& cost, const StepShape& decodes);

  // How many of `wanted` rows behind `first` tokens it has room for now.
  int64_t rows_for(int64_t first, int64_t wanted) const;
  // Rows of the step that are free, whatever they cost.
  int64_t n_rows_free() const { return n_rows_; }
  void spend(int64_t first, int64_t n);

  // Half of what is left is out of reach until it is released.
  void set_half_aside();
  void release_half();

 private:
  StepCost cost_;
  StepShape step_;      // what is planned
  double within_ms_;    // the step
  int64_t n_rows_;      // of the step
  int64_t n_unpriced_;  // of prompts, where time is not known
  int64_t n_aside_ = 0;
  int64_t n_unpriced_aside_ = 0;
  double ms_aside_ = 0;
};

}  // namespace ruv
