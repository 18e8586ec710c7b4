// Losses of a better and a worse answer to the same prompt. All numbers are of one pair.
#pragma once

namespace ruv {

// A loss and its derivatives by what was said of both answers.
struct PairLoss {
  double loss = 0;
  double by_chosen = 0, by_rejected = 0;
};

struct DpoNumbers {
  double beta = 0.1;     // larger keeps the model nearer to the reference
  double smoothing = 0;  // the share of pairs that are taken to be the wrong way round, below 0.5
};

// Direct preference optimisation (Rafailov et al., 2023): with log-probabilities of whole answers
// by the model and by a reference, and m = β · ((chosen - its reference) - (rejected - its
// reference)), -(1 - s) · ln σ(m) - s · ln σ(-m), where s is the smoothing.
struct PairLogProbs {
  double chosen = 0, rejected = 0;
  double reference_chosen = 0, reference_rejected = 0;
};
PairLoss dpo_loss(const PairLogProbs& logs, const DpoNumbers& numbers);

// The loss of two rewards (Bradley and Terry, 1952): -ln σ(chosen - rejected).
PairLoss reward_loss(double chosen, double rejected);

}  // namespace ruv
