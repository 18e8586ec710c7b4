#include "train/policy_loss.h"

#include <algorithm>
#include <cmath>

#include "base/elementary.h"

namespace ruv {
namespace {

constexpr double kLeastDeviation = 1e-4;

}  // namespace

// Where the clipped term is the smaller one, nothing depends on `now`.
TokenLoss clipped_policy_loss(const TokenLogProbs& logs, double advantage, double clip) {
  const double ratio = exact_exp(logs.now - logs.old);
  const double plain = ratio * advantage;
  const double clipped = std::clamp(ratio, 1 - clip, 1 + clip) * advantage;
  return plain <= clipped ? TokenLoss{-plain, -plain} : TokenLoss{-clipped, 0};
}

TokenLoss grpo_loss(const TokenLogProbs& logs, double advantage, const PolicyNumbers& numbers) {
  TokenLoss found = clipped_policy_loss(logs, advantage, numbers.clip);
  if (numbers.kl == 0) return found;
  const double d = logs.reference - logs.now;
  const double share = exact_exp(d);
  found.loss += numbers.kl * (share - d - 1);
  found.by_now += numbers.kl * (1 - share);
  return found;
}

std::vector<double> group_advantages(std::span<const double> rewards) {
  const auto n = static_cast<double>(rewards.size());
  std::vector<double> found(rewards.size(), 0);
  if (rewards.size() < 2) return found;
  double mean = 0;
  for (const double reward : rewards) mean += reward / n;
  double square = 0;
  for (const double reward : rewards) square += (reward - mean) * (reward - mean);
  const double deviation = std::sqrt(square / (n - 1)) + kLeastDeviation;
  for (size_t i = 0; i < found.size(); ++i) found[i] = (rewards[i] - mean) / deviation;
  return found;
}

// From the last token to the first.
std::vector<double> token_advantages(std::span<const double> rewards,
                                     std::span<const double> values,
                                     const AdvantageNumbers& numbers) {
  std::vector<double> found(rewards.size(), 0);
  double next_value = 0;
  double next = 0;
  for (size_t i = rewards.size(); i-- > 0;) {
    const double surprise = rewards[i] + numbers.gamma * next_value - values[i];
    next = surprise + numbers.gamma * numbers.lambda * next;
    found[i] = next;
    next_value = values[i];
  }
  return found;
}

}  // namespace ruv
