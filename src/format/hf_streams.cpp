// Keys of classes with several residual streams (AltUp), and of what comes with them: a product of
// low rank beside attention, and feed-forwards whose gates are cut.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/elementary.h"
#include "format/hf_values.h"

namespace ruv {
namespace {

constexpr std::string_view kCuts = "activation_sparsity_pattern";

// Φ(x) for x >= 0, by its series.
double normal_share_below(double x) {
  double term = x, sum = x;
  for (int k = 1; k < 200; ++k) {
    term *= x * x / (2 * k + 1);
    sum += term;
  }
  return 0.5 + exact_exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi) * sum;
}

// What a share p of normally distributed numbers lies below, in standard deviations from the mean.
// Φ is concave from 0 on, so that each step of Newton's stays below the result. Requires: 0 < p
// < 1.
double deviations_above(double p) {
  if (p < 0.5) return -deviations_above(1 - p);
  double x = 0;
  for (int i = 0; i < 100; ++i) {
    const double slope = exact_exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    const double step = (p - normal_share_below(x)) / slope;
    x += step;
    if (std::abs(step) < 1e-12) break;
  }
  return x;
}

// The shares of all layers that are cut off; absent or null: of the first ten, if there are more.
Result<std::vector<double>> shares_of(const Members& config, int64_t n_layers) {
  std::vector<double> shares(static_cast<size_t>(n_layers), 0.0);
  if (!config.is_set(kCuts)) {
    if (n_layers > 10) std::fill_n(shares.begin(), 10, 0.95);
    return shares;
  }
  const Json& list = *config.find(kCuts);
  const auto is_number = [](const Json& one) { return one.is_number(); };
  if (!list.is_array() || std::cmp_not_equal(list.size(), n_layers) ||
      !std::all_of(list.begin(), list.end(), is_number)) {
    return config.wrong(kCuts, "is not an array with one number for each layer");
  }
  std::transform(list.begin(), list.end(), shares.begin(),
                 [](const Json& one) { return one.get<double>(); });
  return shares;
}

}  // namespace

Status read_hf_streams(const Members& config, int64_t n_layers, HfValues& out) {
  constexpr std::string_view kCount = "altup_num_inputs", kActive = "altup_active_idx";
  constexpr std::string_view kScale = "altup_correct_scale", kRank = "laurel_rank";
  const HfStreams& usual = out.hf().streams;
  const int64_t n = TRY(config.positive_or(kCount, usual.n));
  const int64_t active = config.has(kActive) ? TRY(config.integer(kActive)) : usual.active;
  if (active >= n) return config.wrong(kActive, "is not below altup_num_inputs");
  out.set("altup.num_inputs", n, config.path_of(kCount));
  out.set("altup.active_idx", active, config.path_of(kActive));
  out.set("altup.correct_scale", TRY(config.truth(kScale)).value_or(true), config.path_of(kScale));
  out.set("laurel.rank", TRY(config.positive_or(kRank, usual.low_rank)), config.path_of(kRank));
  auto cuts = std::make_shared<MetaArray>();
  for (const double share : TRY(shares_of(config, n_layers))) {
    if (!(share < 1)) return config.wrong(kCuts, "has a share that is not below 1");
    const auto rounded = double{static_cast<float>(share)};
    cuts->numbers.push_back(rounded > 0 ? deviations_above(rounded)
                                        : -std::numeric_limits<double>::infinity());
  }
  out.set("activation_sparsity_scale", std::shared_ptr<const MetaArray>(cuts),
          config.path_of(kCuts));
  return {};
}

}  // namespace ruv
