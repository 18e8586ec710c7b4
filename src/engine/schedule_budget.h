// StepBudget: how many prompt rows a step may have, by number and by time. Times come from measured
// steps, so it adapts to the machine and to the rest of the step.
#pragma once

#include "engine/schedule.h"

namespace ruv {

class StepBudget {
 public:
  // decodes: the step without prompts. Requires: decodes.n_rows <= max_batch_tokens.
  StepBudget(const SchedulerLimits& limits, const StepCost& cost, const StepShape& decodes);

  // How many of `wanted` rows that follow `first` tokens still fit.
  int64_t rows_for(int64_t first, int64_t wanted) const;
  // Free rows of the step, whatever they cost.
  int64_t n_rows_free() const { return n_rows_; }
  void spend(const StepShape& rows);

  // Reserves half of what is left until it is released.
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
