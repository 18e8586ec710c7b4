#include "learn/gated_step.h"

namespace ruv {
namespace {

// Whether it is not what the step did for its own feedback that is wrong.
bool is_far_from_base(UpdateReading reading, UpdateLimits limits) {
  reading.own_before = reading.own_after = 0;
  limits.own_rise = 0;
  return !refusal_of(reading, limits).empty();
}

}  // namespace

Result<GatedStep> GatedLearner::step(const LearnState& before, uint64_t number,
                                     const Judgement& judgement, const JudgedText* again) const {
  GatedStep tried{.state = before, .reading = {}, .refusal = {}};
  for (size_t n_pulled = 0;; ++n_pulled) {
    const OnlineResult made = TRY(online.step(tried.state, number, judgement, again));
    tried.reading = TRY(gate.read(model));
    tried.reading.own_before = made.loss_before;
    tried.reading.own_after = made.loss_after;
    tried.refusal = refusal_of(tried.reading, limits);
    const bool is_last = n_pulled == kPulledShares.size() || before.n_steps == 0;
    if (tried.refusal.empty() || is_last || !is_far_from_base(tried.reading, limits)) return tried;
    tried.state = before;
    tried.share = kPulledShares[n_pulled];
    online.pull_to_start(tried.state, tried.share);
  }
}

}  // namespace ruv
