// Sampler: turns logits into one token. The steps, in order: logit bias; repetition, presence and
// frequency penalties; then the likeliest token if the temperature is 0, otherwise temperature,
// top-k, top-p, min-p and one random draw. Deterministic: equal logits, history and seed give equal
// tokens.
//
// One per sequence; not thread-safe. Without top-k the whole vocabulary is weighed but not sorted;
// with it, blocks without a candidate are skipped.
#pragma once

#include <span>
#include <vector>

#include "base/rng.h"
#include "ruv/engine.h"

namespace ruv {

class Sampler {
 public:
  // Copies what it needs. Requires: params passed check_params for n_vocab.
  Sampler(const GenerateParams& params, uint64_t seed, int64_t n_vocab);

  // Chooses among `logits` (n_vocab), which it changes. `history` is the prompt and the answer so
  // far; its last n_generated tokens are the answer.
  Token sample(std::span<float> logits, std::span<const Token> history, int64_t n_generated);
  // Whether sample() would return the argmax of unchanged logits.
  bool takes_likeliest() const;

 private:
  struct Candidate {
    float logit;
    Token id;
  };
  static bool is_likelier(const Candidate& a, const Candidate& b);
  void penalize(std::span<float> logits, std::span<const Token> history, int64_t n_generated);
  void keep_top_k(std::span<const float> logits);
  double weigh_all(std::span<const float> logits, float max);
  Token draw_of_all(double total, Token likeliest);
  void keep_heaviest(std::span<const float> logits, double total);
  Token draw_of_kept(double total);
  double weigh_kept();

  GenerateParams params_;
  Rng rng_;
  std::vector<Candidate> candidates_;  // likeliest first
  std::vector<double> weights_;        // of the candidates; the likeliest one's is 1
  std::vector<float> all_weights_;     // of all tokens, without top_k
  std::vector<double> block_sums_;     // of kArgmaxBlock of them
  std::vector<Token> seen_;
};

// Logits per block of argmax.
inline constexpr int64_t kArgmaxBlock = 1024;
// The likeliest token; the lowest id among equals.
Token argmax(std::span<const float> logits);
// Natural logarithms of the probabilities of `chosen` and of the n likeliest tokens, likeliest
// first, under the distribution of the logits. O(n_vocab + n log n).
Event::Logprobs log_probabilities(std::span<const float> logits, Token chosen, int32_t n);

}  // namespace ruv
