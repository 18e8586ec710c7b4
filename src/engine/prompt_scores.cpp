#include "engine/prompt_scores.h"

#include "engine/sample/sampler.h"

namespace ruv {

void PromptScores::add(int64_t place, Token next, std::span<const float> logits) {
  scores_[static_cast<size_t>(place)] = log_probabilities(logits, next, n_top_);
}

bool PromptScores::complete() const {
  return std::ranges::all_of(scores_, [](const Event::Logprobs& score) { return score.rank > 0; });
}

}  // namespace ruv
