// Sampler: logits to one token. The steps, in order: logit bias, repetition, presence and frequency
// penalties, then greedy choice at temperature 0, or temperature, top-k, top-p, min-p and one draw.
// Pure apart from the random numbers it carries: same logits, history and seed, same token.
#pragma once

#include <span>
#include <vector>

#include "base/rng.h"
#include "ruv/engine.h"

namespace ruv {

class Sampler {
 public:
  // Keeps a reference to nothing. Requires: params passed check_params for n_vocab.
  Sampler(const GenerateParams& params, uint64_t seed, int64_t n_vocab);

  // Chooses among logits (n_vocab) which it changes. `history` is prompt and answer so far, of
  // which the last n_generated are the answer.
  Token sample(std::span<float> logits, std::span<const Token> history, int64_t n_generated);
  // Whether `sample` is argmax of the logits as they are.
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
  std::vector<float> all_weights_;     // of all tokens, where no top_k cuts them
  std::vector<double> block_sums_;     // of kArgmaxBlock of them
  std::vector<Token> seen_;
};

// Logits that argmax takes at a time.
inline constexpr int64_t kArgmaxBlock = 1024;
// The likeliest token; the lowest id of equals.
Token argmax(std::span<const float> logits);
// Log-probability of `chosen` and of the n likeliest tokens, likeliest first, of the distribution
// that the logits are. O(n_vocab + n log n).
Event::Logprobs log_probabilities(std::span<const float> logits, Token chosen, int32_t n);

}  // namespace ruv
