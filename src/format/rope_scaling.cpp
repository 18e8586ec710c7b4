#include "format/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/elementary.h"

namespace ruv {

bool Llama3Scaling::is_valid() const { return factor > 0 && high > low && low > 0 && original > 0; }

double Llama3Scaling::kept_share(double wavelength) const {
  if (wavelength > original / low) return 0;
  if (!(wavelength > original / high)) return 1;
  return (original / wavelength - low) / (high - low);
}

std::vector<float> llama3_divisors(const Llama3Scaling& scaling, double base, int64_t n_dims) {
  std::vector<float> divisors;
  for (int64_t i = 0; i < n_dims; i += 2) {
    const double exponent = static_cast<double>(i) / static_cast<double>(n_dims);
    const double wavelength = 2.0 * std::numbers::pi * exact_pow(base, exponent);
    const double kept = scaling.kept_share(wavelength);
    const double ramp = 1.0 / ((1.0 - kept) / scaling.factor + kept);
    divisors.push_back(static_cast<float>(kept == 0 ? scaling.factor : ramp));
  }
  return divisors;
}

Result<Llama3Scaling> llama3_scaling_of(const ModelFile& file) {
  Llama3Scaling scaling;
  scaling.factor = TRY(file.number("rope.scaling.factor"));
  scaling.low = TRY(file.number("rope.scaling.low_freq_factor"));
  scaling.high = TRY(file.number("rope.scaling.high_freq_factor"));
  scaling.original = TRY(file.number("rope.scaling.original_context_length"));
  return scaling;
}

bool YarnScaling::is_valid() const {
  const auto is_positive = [](double x) { return x > 0 && std::isfinite(x); };
  return is_positive(factor) && is_positive(original) && is_positive(beta_fast) &&
         is_positive(beta_slow);
}

std::vector<double> YarnScaling::kept_shares(int64_t n_dims, double base) const {
  const auto n = static_cast<double>(n_dims);
  // The pair, not a whole number, that turns this often in the original context.
  const auto pair_of = [&](double turns) {
    return n * exact_log(original / (turns * 2 * std::numbers::pi)) / (2 * exact_log(base));
  };
  double low = pair_of(beta_fast), high = pair_of(beta_slow);
  if (truncates) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, n - 1);
  if (low == high) high += 0.001;
  std::vector<double> shares;
  for (int64_t i = 0; i < n_dims / 2; ++i) {
    shares.push_back(1 - std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0));
  }
  return shares;
}

double yarn_magnitude(double factor, double mscale) {
  return factor > 1 ? 0.1 * mscale * exact_log(factor) + 1 : 1;
}

double longrope_magnitude(double stretch, int64_t original) {
  if (!(stretch > 1)) return 1;
  return std::sqrt(1 + exact_log(stretch) / exact_log(static_cast<double>(original)));
}

}  // namespace ruv
