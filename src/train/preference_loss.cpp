#include "train/preference_loss.h"

#include <cmath>

#include "base/elementary.h"

namespace ruv {
namespace {

double sigmoid(double x) {
  const double e = exact_exp(-std::fabs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

// -ln σ(x), which neither overflows nor loses what is small.
double minus_log_sigmoid(double x) {
  const double tail = exact_log(1 + exact_exp(-std::fabs(x)));
  return x >= 0 ? tail : tail - x;
}

}  // namespace

PairLoss dpo_loss(const PairLogProbs& logs, const DpoNumbers& numbers) {
  const auto& [beta, s] = numbers;
  const double margin =
      beta * ((logs.chosen - logs.reference_chosen) - (logs.rejected - logs.reference_rejected));
  const double loss = (1 - s) * minus_log_sigmoid(margin) + s * minus_log_sigmoid(-margin);
  const double slope = beta * (s * sigmoid(margin) - (1 - s) * sigmoid(-margin));
  return {loss, slope, -slope};
}

PairLoss reward_loss(double chosen, double rejected) {
  const double margin = chosen - rejected;
  const double slope = -sigmoid(-margin);
  return {minus_log_sigmoid(margin), slope, -slope};
}

}  // namespace ruv
