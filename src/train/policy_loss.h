// Losses of answers that were drawn from a policy and got rewards. A policy here is a model with
// its weights at some time.
#pragma once

#include <span>
#include <vector>

namespace ruv {

struct PolicyNumbers {
  double clip = 0.2;  // how far a ratio of probabilities may move from 1 and still be learned from
  double kl = 0.02;   // what leaving the reference costs
};

// Log-probabilities of one token, by the policy that learns, by the one that the answer was drawn
// from, and by the reference.
struct TokenLogProbs {
  double now = 0, old = 0, reference = 0;
};
struct TokenLoss {
  double loss = 0, by_now = 0;
};

// -min(r · A, clip(r, 1 - c, 1 + c) · A) with r = exp(now - old) (Schulman et al., 2017).
TokenLoss clipped_policy_loss(const TokenLogProbs& logs, double advantage, double clip);
// The same and kl · (exp(d) - d - 1) with d = reference - now, as in GRPO (Shao et al., 2024).
TokenLoss grpo_loss(const TokenLogProbs& logs, double advantage, const PolicyNumbers& numbers);

// Rewards of answers to one prompt as (r - mean) / (s + 1e-4), where s is the deviation with n - 1;
// 0 where there is one answer.
std::vector<double> group_advantages(std::span<const double> rewards);

struct AdvantageNumbers {
  double gamma = 0.99;   // how much of a later reward counts, for each token
  double lambda = 0.95;  // 1: sums of rewards, less biased; 0: the next value alone, less noisy
};
// Generalised advantages (Schulman et al., 2016) of an answer's tokens, of rewards and values by
// token; the value after the last is 0.
std::vector<double> token_advantages(std::span<const double> rewards,
                                     std::span<const double> values,
                                     const AdvantageNumbers& numbers);

}  // namespace ruv
