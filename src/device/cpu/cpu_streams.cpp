// Rows that are added by factors of their own, cut, or made as large as others.
#include <cmath>

#include "device/cpu/cpu_ops.h"

namespace ruv {
namespace {

constexpr int64_t kPartials = 8;

// Σ f(x[i]), as eight sums of every eighth number, so that they can be added at once.
template <class Function>
double sum_of(const float* x, int64_t n, Function f) {
  double sums[kPartials] = {};
  int64_t i = 0;
  for (; i + kPartials <= n; i += kPartials) {
    for (int64_t j = 0; j < kPartials; ++j) sums[j] += f(double{x[i + j]});
  }
  for (; i < n; ++i) sums[i % kPartials] += f(double{x[i]});
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

double mean_square(const float* x, int64_t n) {
  return sum_of(x, n, [](double v) { return v * v; }) / static_cast<double>(n);
}

}  // namespace

void CpuOps::add_scaled(View x, View y, const RowFactors& factors) {
  for_rows(x.n_rows, x.n_cols, [&](int64_t i) {
    const float factor = row(factors.values, i)[factors.column] + factors.offset;
    kernels_->blend(row(x, i), row(y, i), x.n_cols, 1, factor);
  });
}

void CpuOps::cut_below(View x, float deviations) {
  for_rows(x.n_rows, x.n_cols * 4, [&](int64_t i) {
    float* const numbers = row(x, i);
    const auto n = static_cast<double>(x.n_cols);
    const double mean = sum_of(numbers, x.n_cols, [](double v) { return v; }) / n;
    const double variance =
        sum_of(numbers, x.n_cols, [mean](double v) { return (v - mean) * (v - mean); }) / n;
    const auto least = static_cast<float>(mean + std::sqrt(variance) * double{deviations});
    for (int64_t c = 0; c < x.n_cols; ++c) {
      const float above = numbers[c] - least;
      numbers[c] = above > 0 ? above : 0.0F;
    }
  });
}

void CpuOps::match_size(View x, View like, float least) {
  for_rows(x.n_rows, x.n_cols * 2, [&](int64_t i) {
    float* const numbers = row(x, i);
    const double own = std::max(mean_square(numbers, x.n_cols), double{least});
    const auto factor = static_cast<float>(std::sqrt(mean_square(row(like, i), x.n_cols) / own));
    for (int64_t c = 0; c < x.n_cols; ++c) numbers[c] *= factor;
  });
}

}  // namespace ruv
