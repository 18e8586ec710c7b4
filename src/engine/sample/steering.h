// Steering: ways of drawing that learn from what was drawn. Mirostat (Basu et al., 2021) aims at a
// surprise per token, versions 1 and 2; adaptive-p (llama.cpp, 2025) at a probability. What they
// have learned is a SteerState: the one after a token follows from the one before it, so that rows
// of a draft are drawn one after the other.
#pragma once

#include <vector>

#include "engine/sample/token_cuts.h"

namespace ruv {

struct SteerState {
  double most_surprise = 0;  // in bits: Mirostat's mu
  double weighted_sum = 0;   // of the chosen probabilities; older ones fade
  double total_weight = 0;
};

class Steering {
 public:
  // Requires: params passed check_params.
  explicit Steering(const GenerateParams& params);

  // Mirostat, which replaces the cuts.
  bool aims_at_surprise() const { return mirostat_ > 0; }
  bool aims_at_probability() const { return mirostat_ == 0 && target_ >= 0; }
  bool is_needed() const { return aims_at_surprise() || aims_at_probability(); }
  SteerState start() const;

  // Mirostat's own cut; one token at least stays. Requires: aims_at_surprise(), weighed tokens of a
  // vocabulary of n_vocab.
  void cut(std::vector<WeighedToken>& tokens, int64_t n_vocab, const SteerState& state) const;
  // Gives the tokens the weights that adaptive-p draws by; `probabilities` gets what they had.
  // Requires: aims_at_probability(), weighed tokens.
  void prefer_target(std::vector<WeighedToken>& tokens, const SteerState& state,
                     std::vector<double>& probabilities) const;
  // After a token that had this probability, for Mirostat among those that its cut left: as
  // llama.cpp has it, where the paper takes the one before the cut.
  void learn(double probability, SteerState& state) const;

 private:
  // How many tokens version 1 looks at to estimate how fast probabilities fall.
  static constexpr size_t kEstimated = 100;
  size_t n_kept(const std::vector<WeighedToken>& tokens, int64_t n_vocab, double surprise) const;

  int64_t mirostat_;
  double temperature_, tau_, eta_;
  double target_, decay_;
};

}  // namespace ruv
