// Sampler: turns logits into one token. The steps, in order: logit bias; repetition, presence and
// frequency penalties; DRY; then the likeliest token if the temperature is 0, otherwise
// top-n-sigma, temperature, top-k, typical-p, top-p, min-p, XTC and one random draw. A dynamic
// temperature comes after the cuts instead, and adaptive-p then weighs what they left. Mirostat
// replaces all cuts. A request may give another order (StepOrder). Deterministic: equal logits,
// history, random numbers and state give equal tokens.
//
// A sampler only holds parameters, so several rows of one sequence may be sampled at once, each
// with the random numbers of its place and the memory of its thread, unless it is steered: then
// each needs the state that the one before it left. Without top-k the whole
// vocabulary is weighed but not sorted; with it, blocks without a candidate are skipped.
#pragma once

#include <span>
#include <vector>

#include "base/rng.h"
#include "engine/sample/dry_penalty.h"
#include "engine/sample/gap_cuts.h"
#include "engine/sample/steering.h"
#include "engine/sample/step_order.h"
#include "engine/sample/token_cuts.h"
#include "ruv/engine.h"

namespace ruv {

// What came before a row: prompt and answer so far, then the part of a draft that the row follows.
// The last n_generated of all these are the answer.
struct SampleHistory {
  std::span<const Token> tokens;
  std::span<const Token> draft = {};
  int64_t n_generated = 0;
};

// The random numbers of one choice, in [0, 1).
struct SampleNumbers {
  double place = 0;  // where in the distribution the token lies
  double coin = 0;   // whether XTC excludes
};

// Working memory of one thread: up to 20 bytes for each token of the vocabulary, 16 more where
// TokenCuts are needed and 8 more for DRY, allocated by the first draw that needs them.
struct SampleScratch {
  struct Candidate {
    float logit;
    Token id;
  };
  std::vector<Candidate> candidates;  // likeliest first
  std::vector<double> weights;        // of the candidates; the likeliest one's is 1
  std::vector<float> all_weights;     // of all tokens, without top_k
  std::vector<double> block_sums;     // of kArgmaxBlock of them
  std::vector<WeighedToken> kept;     // by TokenCuts or Steering
  std::vector<double> probabilities;  // of these, where adaptive-p weighs them anew
  std::vector<Token> seen;
  DryScratch dry;
};

class Sampler {
 public:
  // Copies what it needs of params. `tokenizer`: what DRY finds its breakers with and infill the
  // texts of tokens; outlives it, or null: they find none. Requires: params passed check_params.
  explicit Sampler(const GenerateParams& params, const Tokenizer* tokenizer = nullptr);
  // Chooses among `logits` (n_vocab), which it changes. `numbers`: what take_numbers() gave.
  // `state`: what the choice before left; becomes what this one leaves.
  Token sample(std::span<float> logits, const SampleHistory& history, const SampleNumbers& numbers,
               SteerState& state, SampleScratch& scratch) const;
  // The state before the first choice.
  SteerState start() const { return steering_.start(); }
  // Whether choices change the state.
  bool is_steered() const { return draws() && steering_.is_needed(); }
  // Whether sample() would return the argmax of unchanged logits.
  bool takes_likeliest() const;
  // The random numbers that one choice takes; none where it is not random.
  SampleNumbers take_numbers(Rng& rng) const;

 private:
  // Whether a choice is random.
  bool draws() const {
    return params_.temperature > 0 || (params_.dynatemp_range > 0 && params_.mirostat == 0);
  }
  bool tosses() const { return draws() && params_.mirostat == 0 && cuts_.tosses(); }
  void penalize(std::span<float> logits, const SampleHistory& history, SampleScratch& to) const;
  void cut_below_sigma(std::span<float> logits) const;
  void keep_top_k(std::span<const float> logits, SampleScratch& to) const;
  Token draw_after_cuts(std::span<const float> logits, const SampleNumbers& numbers,
                        SteerState& state, SampleScratch& scratch) const;
  Token draw_of_weighed(double place, SteerState& state, SampleScratch& scratch) const;
  Token draw_in_order(std::span<float> logits, const SampleHistory& history,
                      const SampleNumbers& numbers, SteerState& state,
                      SampleScratch& scratch) const;
  void change_logits(SampleStep step, std::span<float> logits, const SampleHistory& history,
                     SampleScratch& scratch) const;
  double weigh_all(std::span<const float> logits, float max, SampleScratch& to) const;
  void keep_heaviest(std::span<const float> logits, double total, SampleScratch& to) const;
  double weigh_kept(SampleScratch& to) const;
  Token draw_of_kept(double total, double uniform, const SampleScratch& from) const;

  StepOrder order_;
  GenerateParams params_;  // neutral where order_ leaves a step out
  DryPenalty dry_;
  TokenCuts cuts_;
  GapCuts gap_cuts_;
  Steering steering_;
};

// Logits per block of argmax.
inline constexpr int64_t kArgmaxBlock = 1024;
// The likeliest token; the lowest id among equals.
Token argmax(std::span<const float> logits);
// Natural logarithms of the probabilities of `chosen` and of the n likeliest tokens, likeliest
// first, under the distribution of the logits, and the rank of `chosen`: of equal logits the lower
// id comes first. O(n_vocab + n log n). Throws std::bad_alloc.
Event::Logprobs log_probabilities(std::span<const float> logits, Token chosen, int32_t n);

}  // namespace ruv
