#include "engine/sample/steering.h"

#include <algorithm>
#include <cmath>

#include "base/elementary.h"

namespace ruv {
namespace {

constexpr double kLn2 = 0.693147180559945309;

double total_weight_of(const std::vector<WeighedToken>& tokens) {
  double sum = 0;
  for (const WeighedToken& token : tokens) sum += token.weight;
  return sum;
}

}  // namespace

Steering::Steering(const GenerateParams& params)
    : mirostat_(params.mirostat),
      temperature_(params.temperature),
      tau_(params.mirostat_tau),
      eta_(params.mirostat_eta),
      target_(params.adaptive_target),
      decay_(params.adaptive_decay) {}

// As if the target had always been met.
SteerState Steering::start() const {
  const double weight = 1 / (1 - decay_);
  return {.most_surprise = 2 * tau_, .weighted_sum = target_ * weight, .total_weight = weight};
}

// Probabilities are taken to fall as rank^-s (Zipf). s is the least squares fit of the logarithms
// of neighbours' ratios, and the number of tokens is the one whose expected surprise is asked for.
size_t Steering::n_kept(const std::vector<WeighedToken>& tokens, int64_t n_vocab,
                        double surprise) const {
  double products = 0;
  double squares = 0;
  const size_t n = std::min(kEstimated, tokens.size());
  for (size_t i = 0; i + 1 < n; ++i) {
    const auto rank = static_cast<double>(i + 1);
    const double t = exact_log((rank + 1) / rank);
    products += t * (double{tokens[i].logit} - double{tokens[i + 1].logit}) / temperature_;
    squares += t * t;
  }
  if (squares == 0) return 1;
  const double s = std::max(products / squares, 1e-12);  // 0 where all are equally likely
  const double log_n = exact_log(static_cast<double>(n_vocab));
  const double epsilon = s - 1;
  // epsilon / (1 - n_vocab^-epsilon), whose limit at 0 is 1 / log_n.
  const double share =
      std::fabs(epsilon) < 1e-9 ? 1 / log_n : epsilon / (1 - exact_exp(-epsilon * log_n));
  const double k = exact_exp((exact_log(share) + surprise * kLn2) / s);
  if (!(k >= 1)) return 1;
  return k >= static_cast<double>(tokens.size()) ? tokens.size() : static_cast<size_t>(k);
}

// Version 2 drops what is more surprising than the bound; the likeliest stays.
void Steering::cut(std::vector<WeighedToken>& tokens, int64_t n_vocab,
                   const SteerState& state) const {
  if (mirostat_ == 1) {
    const auto sort_first = [&](size_t n) {
      std::partial_sort(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(n),
                        tokens.end(), precedes);
    };
    sort_first(std::min(kEstimated, tokens.size()));
    const size_t n = n_kept(tokens, n_vocab, state.most_surprise);
    if (n > kEstimated) sort_first(n);
    tokens.resize(n);
    return;
  }
  const WeighedToken likeliest = *std::min_element(tokens.begin(), tokens.end(), precedes);
  const double least = total_weight_of(tokens) * exact_exp(-state.most_surprise * kLn2);
  std::erase_if(tokens, [&](const WeighedToken& token) {
    return token.weight < least && token.id != likeliest.id;
  });
}

// A bell around the target whose sides are straight, so that far tokens stay improbable.
void Steering::prefer_target(std::vector<WeighedToken>& tokens, const SteerState& state,
                             std::vector<double>& probabilities) const {
  constexpr double kWidth = 0.3;
  constexpr double kSharpness = 10;
  const double mean = state.weighted_sum / state.total_weight;
  const double aim = std::clamp(2 * target_ - mean, 0.0, 1.0);
  const double total = total_weight_of(tokens);
  probabilities.clear();
  for (WeighedToken& token : tokens) {
    const double p = token.weight / total;
    const double distance = std::fabs(p - aim) / kWidth;
    probabilities.push_back(p);
    token.weight = exact_exp(-kSharpness * distance * distance / (1 + distance));
  }
}

void Steering::learn(double probability, SteerState& state) const {
  if (aims_at_surprise()) {
    const double surprise = -exact_log(probability) / kLn2;
    state.most_surprise -= eta_ * (surprise - tau_);
  } else {
    state.weighted_sum = probability + decay_ * state.weighted_sum;
    state.total_weight = 1 + decay_ * state.total_weight;
  }
}

}  // namespace ruv
