#include "engine/speculate/speculative_stats.h"

namespace ruv {

void SpeculationMeter::record(const Step& step) {
  stats_.n_drafted += step.n_drafted;
  stats_.n_accepted += step.n_accepted;
  stats_.n_passes += step.n_sequences;
  stats_.n_tokens += step.n_tokens;
  if (step.n_sequences < 1 || step.n_sequences > kMaxSequences) return;
  Plain& plain = plain_[static_cast<size_t>(step.n_sequences)];
  if (step.n_drafted == 0) {
    plain.ms = plain.ms * kFading + step.ms;
    plain.n_tokens = plain.n_tokens * kFading + static_cast<double>(step.n_tokens);
  }
  if (plain.n_tokens <= 0) return;
  measured_ms_ += step.ms;
  plain_ms_ += plain.ms / plain.n_tokens * static_cast<double>(step.n_tokens);
  any_drafts_ = any_drafts_ || step.n_drafted > 0;
}

SpeculativeStats SpeculationMeter::stats() const {
  SpeculativeStats stats = stats_;
  if (any_drafts_ && measured_ms_ > 0) stats.speed_up = plain_ms_ / measured_ms_;
  return stats;
}

}  // namespace ruv
