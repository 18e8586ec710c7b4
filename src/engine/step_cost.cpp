#include "engine/step_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ruv {
namespace {

using Vec3 = std::array<double, 3>;

// Weighted normal equations of ms ~ x0 + x1 rows + x2 context.
struct Normal {
  std::array<Vec3, 3> a{};
  Vec3 b{};

  void add(const Vec3& f, double ms, double weight) {
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 3; ++j) a[i][j] += weight * f[i] * f[j];
      b[i] += weight * f[i] * ms;
    }
  }

  // Least squares with x >= 0, where `x` before decides what the samples leave open. With three
  // variables each choice of those that are 0 can be tried.
  void solve(Vec3& x) const {
    const Vec3 before = x;
    double least = 0;  // of x = 0
    x = {};
    for (unsigned chosen = 1; chosen < 8; ++chosen) {
      const Vec3 y = solved(chosen, before);
      double loss = 0;
      for (size_t i = 0; i < 3; ++i) {
        loss -= 2 * b[i] * y[i];
        for (size_t j = 0; j < 3; ++j) loss += a[i][j] * y[i] * y[j];
      }
      const bool allowed = y[0] >= 0 && y[1] >= 0 && y[2] >= 0;
      if (!allowed || loss >= least) continue;
      least = loss;
      x = y;
    }
  }

 private:
  // The others are 0. Gauss-Seidel would creep here: rows and fixed part are nearly parallel.
  Vec3 solved(unsigned chosen, const Vec3& before) const {
    constexpr double kRidge = 1e-6;
    std::array<Vec3, 3> m = a;
    Vec3 y = b;
    for (size_t i = 0; i < 3; ++i) {
      const bool in = (chosen >> i & 1) != 0 && a[i][i] > 0;
      for (size_t j = 0; j < 3; ++j) m[i][j] = in && (chosen >> j & 1) != 0 ? a[i][j] : 0;
      m[i][i] = in ? a[i][i] * (1 + kRidge) : 1;
      y[i] = in ? b[i] + kRidge * a[i][i] * before[i] : 0;
    }
    for (size_t k = 0; k < 3; ++k) {  // m is positive definite: no pivots
      for (size_t i = 0; i < 3; ++i) {
        if (i == k) continue;
        const double factor = m[i][k] / m[k][k];
        for (size_t j = k; j < 3; ++j) m[i][j] -= factor * m[k][j];
        y[i] -= factor * y[k];
      }
    }
    for (size_t i = 0; i < 3; ++i) y[i] /= m[i][i];
    return y;
  }
};

}  // namespace

int64_t StepCost::rows_within(double ms, int64_t first) const {
  if (ms <= 0) return 0;
  // row n + context (first n + n^2 / 2) = ms
  const double per_token = context_ms / kContextUnit;
  const double linear = row_ms + per_token * static_cast<double>(first);
  const double root = std::sqrt(linear * linear + 2 * per_token * ms);
  constexpr double kMost = 1 << 30;
  const double n = linear + root > 0 ? 2 * ms / (linear + root) : kMost;
  return static_cast<int64_t>(std::min(n, kMost));
}

void StepTimer::add(const StepShape& shape, double ms) {
  if (shape.n_rows <= 0 || !(ms > 0)) return;
  const auto size = static_cast<int>(std::bit_width(static_cast<uint64_t>(shape.n_rows))) - 1;
  Ring& ring = rings_[static_cast<size_t>(std::min(size, kSizes - 1))];
  ring.samples[static_cast<size_t>(ring.n++ % kKept)] = {
      static_cast<double>(shape.n_rows), shape.context / StepCost::kContextUnit, ms};
  // The first steps of a size tell much; later each fit has one new sample of each ring or so.
  constexpr int kFirst = 4;
  if (ring.n <= kFirst || ++n_added_ % kSizes == 0) fit();
}

void StepTimer::fit() {
  const auto n_seen = std::ranges::count_if(rings_, [](const Ring& ring) { return ring.n > 0; });
  if (n_seen < 2) return;
  constexpr int kPasses = 3;
  constexpr double kTypicalError = 0.2;  // relative; beyond it a sample counts less (Huber, 1964)
  Vec3 x = {cost_.fixed_ms, cost_.row_ms, cost_.context_ms};
  for (int pass = 0; pass < kPasses; ++pass) {
    Normal normal;
    for (const Ring& ring : rings_) {
      const int n = std::min(ring.n, kKept);
      for (int i = 0; i < n; ++i) {
        const Sample& s = ring.samples[static_cast<size_t>(i)];
        const double error = std::abs(x[0] + x[1] * s.rows + x[2] * s.context - s.ms) / s.ms;
        const bool trusted = (pass == 0 && !cost_.measured()) || error <= kTypicalError;
        // Each size counts the same, however many samples of it there are.
        const double weight = (trusted ? 1 : kTypicalError / error) / (s.ms * s.ms * n);
        normal.add({1, s.rows, s.context}, s.ms, weight);
      }
    }
    normal.solve(x);
  }
  cost_ = {x[0], x[1], x[2]};
}

}  // namespace ruv
