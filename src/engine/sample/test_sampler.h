// A sampler that draws one token after another, as a sequence does.
#pragma once

#include "base/rng.h"
#include "engine/sample/sampler.h"

namespace ruv {

class SequentialSampler {
 public:
  SequentialSampler(const GenerateParams& params, uint64_t seed)
      : sampler_(params), rng_(seed), state_(sampler_.start()) {}

  // `history`: prompt and answer so far; its last n_generated tokens are the answer.
  Token sample(std::span<float> logits, std::span<const Token> history, int64_t n_generated) {
    return sampler_.sample(logits, {history, {}, n_generated}, sampler_.take_numbers(rng_), state_,
                           scratch_);
  }
  const SteerState& state() const { return state_; }
  // What the last choice was made in.
  const SampleScratch& scratch() const { return scratch_; }

 private:
  Sampler sampler_;
  Rng rng_;
  SteerState state_;
  SampleScratch scratch_;
};

}  // namespace ruv
