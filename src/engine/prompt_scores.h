// PromptScores: log-probabilities of a prompt's tokens, each given those before it. Rows of logits
// arrive in any number of steps, and rows of one step may be scored on different threads at once.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/range.h"
#include "ruv/engine.h"

namespace ruv {

class PromptScores {
 public:
  // For a prompt of n_tokens; each score names the n_top likeliest tokens too. Throws
  // std::bad_alloc.
  PromptScores(int64_t n_tokens, int32_t n_top)
      : n_top_(n_top), scores_(static_cast<size_t>(n_tokens - 1)) {}

  // How many of the prompt's tokens in `tokens` need their logits: all but the prompt's last, whose
  // logits choose the first token of the answer.
  int64_t n_wanted(Range tokens) const {
    return std::clamp<int64_t>(std::ssize(scores_) - tokens.begin, 0, tokens.end - tokens.begin);
  }
  // Scores `next`, the token after the one at `place`, under that one's logits (n_vocab). Throws
  // std::bad_alloc. Requires: place + 1 is a place of the prompt.
  void add(int64_t place, Token next, std::span<const float> logits);
  // Whether all tokens are scored. A row for which memory ran out is not.
  bool complete() const;
  // The scores of the second token and all after it. Once.
  std::vector<Event::Logprobs> take() { return std::move(scores_); }

 private:
  int32_t n_top_;
  std::vector<Event::Logprobs> scores_;  // rank 0: not there yet
};

}  // namespace ruv
