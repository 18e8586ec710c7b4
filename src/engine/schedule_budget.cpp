#include "engine/schedule_budget.h"

#include <algorithm>

namespace ruv {

StepBudget::StepBudget(const SchedulerLimits& limits, const StepCost& cost, int64_t n_decodes,
                       double decode_ms)
    : cost_(cost),
      n_rows_(limits.max_batch_tokens - n_decodes),
      n_unpriced_(n_decodes > 0 ? limits.max_mixed_tokens : limits.max_batch_tokens),
      ms_(n_decodes > 0 ? decode_ms * (limits.step_target - 1)
                        : std::max(limits.max_prompt_step_ms - cost.fixed_ms, cost.fixed_ms)) {}

int64_t StepBudget::rows_for(int64_t first, int64_t wanted) const {
  const int64_t n = std::min(wanted, n_rows_ - n_aside_);
  if (!cost_.measured()) return std::max<int64_t>(0, std::min(n, n_unpriced_ - n_unpriced_aside_));
  return std::max<int64_t>(0, std::min(n, cost_.rows_within(ms_ - ms_aside_, first)));
}

void StepBudget::spend(int64_t first, int64_t n) {
  n_rows_ -= n;
  n_unpriced_ -= n;
  ms_ -= cost_.rows_ms(first, n);
}

void StepBudget::set_half_aside() {
  n_aside_ = n_rows_ - n_rows_ / 2;
  n_unpriced_aside_ = n_unpriced_ - n_unpriced_ / 2;
  ms_aside_ = std::max(0.0, ms_ / 2);
}

void StepBudget::release_half() {
  n_aside_ = n_unpriced_aside_ = 0;
  ms_aside_ = 0;
}

}  // namespace ruv
