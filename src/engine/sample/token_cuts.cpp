#include "engine/sample/token_cuts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/elementary.h"

namespace ruv {
namespace {

using Tokens = std::vector<WeighedToken>;

// Tokens that are further from typical than this weigh nothing.
constexpr double kMostOdd = 1024;
// Logits divided by less would not all be numbers in float32.
constexpr double kLeastTemperature = 1e-30;

float largest_logit(const Tokens& tokens) {
  float max = tokens.front().logit;
  for (const WeighedToken& token : tokens) max = std::max(max, token.logit);
  return max;
}

// How far below the likeliest token one is on average, in natural units of log-probability. With
// the logarithm of the sum of the weights added it is the entropy.
double mean_depth(const Tokens& tokens, double temperature) {
  const double max = largest_logit(tokens);
  double sum = 0;
  for (const WeighedToken& token : tokens) {
    if (token.weight == 0) continue;  // its depth may be infinite
    sum += token.weight * ((max - double{token.logit}) / temperature);
  }
  return sum / total_weight(tokens);
}

// Keeps, in the order of `is_before`, the first token and then as many as `is_wanted` says, which
// is asked for one after the other.
template <class Before, class Wanted>
void keep_first(Tokens& tokens, Before is_before, Wanted is_wanted) {
  const auto is_after = [&](const WeighedToken& a, const WeighedToken& b) {
    return is_before(b, a);
  };
  std::make_heap(tokens.begin(), tokens.end(), is_after);
  auto end = tokens.end();
  while (end != tokens.begin() && (is_wanted(tokens.front()) || end == tokens.end())) {
    std::pop_heap(tokens.begin(), end--, is_after);
  }
  tokens.erase(tokens.begin(), end);
  std::reverse(tokens.begin(), tokens.end());
}

}  // namespace

bool precedes(const WeighedToken& a, const WeighedToken& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

double total_weight(const Tokens& tokens) {
  double sum = 0;
  for (const WeighedToken& token : tokens) sum += token.weight;
  return sum;
}

void weigh(Tokens& tokens, double temperature) {
  const double max = largest_logit(tokens);
  for (WeighedToken& token : tokens) {
    token.weight = exact_exp((double{token.logit} - max) / temperature);
  }
}

TokenCuts::TokenCuts(const GenerateParams& params)
    : temperature_(params.temperature),
      top_p_(params.top_p),
      min_p_(params.min_p),
      typical_p_(params.typical_p),
      xtc_probability_(params.xtc_probability),
      xtc_threshold_(params.xtc_threshold),
      dynatemp_range_(params.dynatemp_range),
      dynatemp_exponent_(params.dynatemp_exponent) {}

// A dynamic temperature comes last; all before it is at temperature 1.
void TokenCuts::apply(Tokens& tokens, double coin) const {
  const double temperature = dynatemp_range_ > 0 ? 1 : temperature_;
  weigh(tokens, temperature);
  if (typical_p_ < 1) keep_typical(tokens, temperature);
  if (top_p_ < 1 || min_p_ > 0) keep_likely(tokens, top_p_, min_p_);
  if (tosses() && coin < xtc_probability_) exclude_top(tokens);
  if (dynatemp_range_ > 0) heat(tokens);
}

// The information of a token is the logarithm of the sum plus its own depth, and that of all the
// same plus the mean depth: their difference needs no logarithms.
void TokenCuts::keep_typical(Tokens& tokens, double temperature) const {
  const double max = largest_logit(tokens);
  const double mean = mean_depth(tokens, temperature);
  const auto oddness = [&](const WeighedToken& token) {
    return std::fabs((max - double{token.logit}) / temperature - mean);
  };
  const double wanted = typical_p_ * total_weight(tokens);
  // Most tokens are far from typical: those within a bound that leaves enough are put in order.
  double sum = 0;
  double bound = 0.5;
  do {
    bound *= 2;
    sum = 0;
    for (const WeighedToken& token : tokens) sum += oddness(token) <= bound ? token.weight : 0;
  } while ((sum < wanted || sum == 0) && bound < kMostOdd);
  if (sum > 0 && sum >= wanted)
    std::erase_if(tokens, [&](const auto& t) { return oddness(t) > bound; });
  sum = 0;
  keep_first(
      tokens,
      [&](const WeighedToken& a, const WeighedToken& b) {
        const double of_a = oddness(a);
        const double of_b = oddness(b);
        return of_a < of_b || (of_a == of_b && precedes(a, b));
      },
      [&](const WeighedToken& next) {
        const bool is_wanted = sum < wanted;
        sum += next.weight;
        return is_wanted;
      });
}

void TokenCuts::keep_likely(Tokens& tokens, double top_p, double min_p) {
  const double wanted =
      top_p < 1 ? top_p * total_weight(tokens) : std::numeric_limits<double>::infinity();
  double most = 0;
  for (const WeighedToken& token : tokens) most = std::max(most, token.weight);
  double sum = 0;
  keep_first(tokens, precedes, [&](const WeighedToken& next) {
    const bool is_wanted = sum < wanted && next.weight >= min_p * most;
    sum += next.weight;
    return is_wanted;
  });
}

// Only the least likely of the tokens that reach the threshold stays.
void TokenCuts::exclude_top(Tokens& tokens) const {
  const double least = xtc_threshold_ * total_weight(tokens);
  const WeighedToken* last = nullptr;
  for (const WeighedToken& token : tokens) {
    if (token.weight >= least && (last == nullptr || precedes(*last, token))) last = &token;
  }
  if (last == nullptr) return;
  const WeighedToken stays = *last;
  std::erase_if(tokens, [&](const WeighedToken& token) {
    return token.weight >= least && precedes(token, stays);
  });
}

// From temperature - range, where one token is certain, to temperature + range, where all that are
// left are equally likely; 0: the likeliest token.
double TokenCuts::temperature_of(Tokens& tokens) const {
  weigh(tokens, 1);  // anew, as the likeliest may be gone
  const double entropy = exact_log(total_weight(tokens)) + mean_depth(tokens, 1);
  const double share = entropy / exact_log(static_cast<double>(tokens.size()));
  const double power = share > 0                 ? exact_pow(share, dynatemp_exponent_)
                       : dynatemp_exponent_ == 0 ? 1.0
                                                 : 0.0;
  const double low = std::max(0.0, temperature_ - dynatemp_range_);
  return low + (temperature_ + dynatemp_range_ - low) * power;
}

void TokenCuts::heat(Tokens& tokens) const {
  if (tokens.size() < 2) return;
  const double temperature = temperature_of(tokens);
  if (temperature > 0) return weigh(tokens, temperature);
  tokens = {*std::ranges::min_element(tokens, precedes)};
}

// As heat(), or by the temperature itself, in the logits, for steps that come after it.
void TokenCuts::cool(Tokens& tokens) const {
  if (tokens.size() < 2) return;
  const double temperature = dynatemp_range_ > 0 ? temperature_of(tokens) : temperature_;
  if (temperature < kLeastTemperature) {
    tokens = {*std::ranges::min_element(tokens, precedes)};
    return;
  }
  constexpr double kMost = std::numeric_limits<float>::max();
  for (WeighedToken& token : tokens) {
    const double logit = double{token.logit} / temperature;
    token.logit = static_cast<float>(std::clamp(logit, -kMost, kMost));
  }
}

void TokenCuts::apply_step(SampleStep step, Tokens& tokens, double coin) const {
  if (step == SampleStep::temperature) return cool(tokens);
  weigh(tokens, 1);
  if (step == SampleStep::typical_p && typical_p_ < 1) keep_typical(tokens, 1);
  if (step == SampleStep::top_p && top_p_ < 1) keep_likely(tokens, top_p_, 0);
  if (step == SampleStep::min_p && min_p_ > 0) keep_likely(tokens, 1, min_p_);
  if (step == SampleStep::xtc && tosses() && coin < xtc_probability_) exclude_top(tokens);
}

}  // namespace ruv
