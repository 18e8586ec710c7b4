// TokenCuts: the cuts of a distribution that look at all of it: locally typical tokens (Meister et
// al., 2022), top-p and min-p beside them, XTC (exclude top choices) and the dynamic temperature,
// which depends on the entropy of what the cuts left.
//
// Nothing is sorted: the tokens that a cut keeps are taken off a heap, so that cutting k of n
// tokens takes O(n + k log n).
#pragma once

#include <vector>

#include "engine/sample/step_order.h"
#include "ruv/params.h"

namespace ruv {

struct WeighedToken {
  double weight;  // in proportion to its probability
  float logit;
  Token id;
};

// The likelier of two comes first; of equals the lower id.
bool precedes(const WeighedToken& a, const WeighedToken& b);
// Gives tokens their weights at a temperature; the likeliest weighs 1. Requires: there are tokens,
// all logits are finite, temperature > 0.
void weigh(std::vector<WeighedToken>& tokens, double temperature);

// The sum of their weights.
double total_weight(const std::vector<WeighedToken>& tokens);

class TokenCuts {
 public:
  // Requires: params passed check_params.
  explicit TokenCuts(const GenerateParams& params);

  // Whether apply() does what the sampler's usual cuts do not.
  bool are_needed() const { return typical_p_ < 1 || tosses() || dynatemp_range_ > 0; }
  // Whether apply() takes a random number.
  bool tosses() const { return xtc_probability_ > 0 && xtc_threshold_ <= kMaxThreshold; }
  // Weighs the tokens and drops those that are cut; at least one stays. `coin`: a random number in
  // [0, 1), used if tosses(). Requires: there are tokens, all logits are finite.
  void apply(std::vector<WeighedToken>& tokens, double coin) const;
  // One of the steps that look at all tokens, whose logits a temperature divides. Requires: there
  // are tokens, all logits are finite.
  void apply_step(SampleStep step, std::vector<WeighedToken>& tokens, double coin) const;

 private:
  // No two tokens can have a probability above it, so that nothing would be excluded.
  static constexpr double kMaxThreshold = 0.5;

  void keep_typical(std::vector<WeighedToken>& tokens, double temperature) const;
  static void keep_likely(std::vector<WeighedToken>& tokens, double top_p, double min_p);
  void exclude_top(std::vector<WeighedToken>& tokens) const;
  double temperature_of(std::vector<WeighedToken>& tokens) const;
  void heat(std::vector<WeighedToken>& tokens) const;
  void cool(std::vector<WeighedToken>& tokens) const;

  double temperature_, top_p_, min_p_, typical_p_;
  double xtc_probability_, xtc_threshold_;
  double dynatemp_range_, dynatemp_exponent_;
};

}  // namespace ruv
