#include "engine/schedule_budget.h"

#include <algorithm>

namespace ruv {

StepBudget::StepBudget(const SchedulerLimits& limits, const StepCost& cost,
                       const StepShape& decodes)
    : cost_(cost),
      step_(decodes),
      within_ms_(decodes.n_rows > 0 ? cost.step_ms(decodes) * limits.step_target
                                    : std::max(limits.max_prompt_step_ms, 2 * cost.fixed_ms)),
      n_rows_(limits.max_batch_tokens - decodes.n_rows),
      n_unpriced_(decodes.n_rows > 0 ? limits.max_mixed_tokens : limits.max_batch_tokens) {}

// Until steps have been measured only the number of prompt rows is limited.
int64_t StepBudget::rows_for(int64_t first, int64_t wanted) const {
  const int64_t n = std::min(wanted, n_rows_ - n_aside_);
  if (!cost_.measured()) return std::max<int64_t>(0, std::min(n, n_unpriced_ - n_unpriced_aside_));
  return std::max<int64_t>(0, std::min(n, cost_.rows_within(within_ms_ - ms_aside_, step_, first)));
}

void StepBudget::spend(const StepShape& rows) {
  n_rows_ -= rows.n_rows;
  n_unpriced_ -= rows.n_rows;
  step_ = step_ + rows;
}

void StepBudget::set_half_aside() {
  n_aside_ = n_rows_ - n_rows_ / 2;
  n_unpriced_aside_ = n_unpriced_ - n_unpriced_ / 2;
  ms_aside_ = std::max(0.0, (within_ms_ - cost_.step_ms(step_)) / 2);
}

void StepBudget::release_half() {
  n_aside_ = n_unpriced_aside_ = 0;
  ms_aside_ = 0;
}

}  // namespace ruv
