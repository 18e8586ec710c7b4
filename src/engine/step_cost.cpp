#include "engine/step_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ruv {
namespace {

constexpr size_t kParts = 6;
using Parts = std::array<double, kParts>;
// How strongly a part is drawn to its last value, in shares of its squares. Contexts are drawn more
// than rows, since in the first prompts both grow together. Outputs are drawn to 0: beside a single
// stream each step has one of them, which cannot be told from the fixed part.
constexpr Parts kRidge = {1e-6, 1e-6, 1e-3, 1e-3, 1e-2, 1e-3};

// What a step has of each part that StepCost adds up.
Parts parts_of(const StepShape& shape, const StepCost& cost) {
  return {1,
          static_cast<double>(shape.n_rows),
          shape.context / StepCost::kContextUnit,
          shape.reach / StepCost::kContextUnit,
          static_cast<double>(shape.n_outputs),
          cost.share_read(shape.n_rows)};
}

// Weighted normal equations of ms ~ the sum of x[i] times the i-th part.
struct Normal {
  std::array<Parts, kParts> a{};
  Parts b{};

  void add(const Parts& f, double ms, double weight) {
    for (size_t i = 0; i < kParts; ++i) {
      for (size_t j = 0; j < kParts; ++j) a[i][j] += weight * f[i] * f[j];
      b[i] += weight * f[i] * ms;
    }
  }

  // Least squares with x >= 0, where `x` before decides what the samples leave open. With so few
  // variables each choice of those that are 0 can be tried. What no sample has, as experts of a
  // dense model, is left out: its choices would be tried twice.
  void solve(Parts& x) const {
    const Parts before = x;
    double least = 0;  // of x = 0
    unsigned absent = 0;
    for (size_t i = 0; i < kParts; ++i) absent |= unsigned{!(a[i][i] > 0)} << i;
    x = {};
    for (unsigned chosen = 1; chosen < 1U << kParts; ++chosen) {
      if ((chosen & absent) != 0) continue;
      const Parts y = solved(chosen, before);
      double loss = 0;
      for (size_t i = 0; i < kParts; ++i) {
        loss -= 2 * b[i] * y[i];
        for (size_t j = 0; j < kParts; ++j) loss += a[i][j] * y[i] * y[j];
      }
      const bool allowed = std::ranges::all_of(y, [](double part) { return part >= 0; });
      if (!allowed || loss >= least) continue;
      least = loss;
      x = y;
    }
  }

 private:
  // The others are 0. Gauss-Seidel would creep here: rows and fixed part are nearly parallel.
  Parts solved(unsigned chosen, const Parts& before) const {
    std::array<Parts, kParts> m = a;
    Parts y = b;
    for (size_t i = 0; i < kParts; ++i) {
      const bool in = (chosen >> i & 1) != 0 && a[i][i] > 0;
      for (size_t j = 0; j < kParts; ++j) m[i][j] = in && (chosen >> j & 1) != 0 ? a[i][j] : 0;
      m[i][i] = in ? a[i][i] * (1 + kRidge[i]) : 1;
      y[i] = in ? b[i] + kRidge[i] * a[i][i] * before[i] : 0;
    }
    for (size_t k = 0; k < kParts; ++k) {  // m is positive definite: no pivots
      for (size_t i = 0; i < kParts; ++i) {
        if (i == k) continue;
        const double factor = m[i][k] / m[k][k];
        for (size_t j = k; j < kParts; ++j) m[i][j] -= factor * m[k][j];
        y[i] -= factor * y[k];
      }
    }
    for (size_t i = 0; i < kParts; ++i) y[i] /= m[i][i];
    return y;
  }
};

}  // namespace

int StepCost::size_of(int64_t n_rows) {
  if (n_rows <= kExactSizes) return static_cast<int>(std::max<int64_t>(n_rows, 1)) - 1;
  const auto n = static_cast<uint64_t>(n_rows);
  const int octave = static_cast<int>(std::bit_width(n)) - 1;
  const int half = static_cast<int>(n >> (octave - 1) & 1);
  return std::min(kExactSizes + 2 * (octave - 4) + half, kSizes - 1);
}

int64_t StepCost::first_of(int size) {
  if (size <= kExactSizes) return size + 1;
  const int64_t octave = int64_t{16} << ((size - kExactSizes) / 2);
  return octave + ((size - kExactSizes) % 2) * octave / 2;
}

// As if there were no last row.
double StepCost::rows_of_sum(double ms, int64_t first) const {
  // row n + context (first n + n^2 / 2) + reach (first + n) = ms
  const double per_token = context_ms / kContextUnit;
  const double per_reach = reach_ms / kContextUnit;
  ms -= per_reach * static_cast<double>(first);
  if (ms <= 0) return 0;
  const double linear = row_ms + per_token * static_cast<double>(first) + per_reach;
  const double root = std::sqrt(linear * linear + 2 * per_token * ms);
  constexpr double kMost = 1 << 30;
  return linear + root > 0 ? std::min(2 * ms / (linear + root), kMost) : kMost;
}

int64_t StepCost::rows_within(double ms, const StepShape& step, int64_t first) const {
  // Sizes with many rows first. A size that takes too long need not mean that larger ones do.
  for (int size = kSizes - 1; size >= size_of(step.n_rows + 1); --size) {
    const double known = factors[static_cast<size_t>(size)];
    const double sum_within = ms / (known > 0 ? known : 1);
    // Experts as if the size were full.
    const bool last = size + 1 == kSizes;
    const double more_read =
        (last ? 1 : share_read(first_of(size + 1) - 1)) - share_read(step.n_rows);
    const double left_ms = sum_within - sum_ms(step) - experts_ms * more_read;
    const auto n = static_cast<int64_t>(rows_of_sum(left_ms, first));
    const int64_t end = last ? step.n_rows + n + 1 : first_of(size + 1);
    const int64_t most = std::min(step.n_rows + n, end - 1);
    if (most > step.n_rows && most >= first_of(size)) return most - step.n_rows;
  }
  return 0;
}

void StepTimer::add(const StepShape& shape, double ms) {
  if (shape.n_rows <= 0 || !(ms > 0)) return;
  Ring& ring = rings_[static_cast<size_t>(StepCost::size_of(shape.n_rows))];
  const Sample sample = {shape, ms};
  ring.samples[static_cast<size_t>(ring.n++ % kKept)] = sample;
  ring.latest = ++n_added_;
  // The first steps of a size tell much; later each fit has some new samples.
  constexpr int kPeriod = 12;
  if (ring.n - ring.n_forgotten <= kEnough || n_added_ % kPeriod == 0) fit(sample);
}

void StepTimer::fit(const Sample& latest) {
  const auto n_seen = std::ranges::count_if(rings_, [](const Ring& ring) { return ring.n > 0; });
  if (n_seen < 2) {
    const auto n_more = static_cast<double>(latest.shape.n_rows - 1);
    const double one_ms = latest.ms / (1 + kGuessedSlope * n_more);
    cost_ = {.fixed_ms = one_ms * (1 - kGuessedSlope),
             .row_ms = one_ms * kGuessedSlope,
             .share_of_experts = cost_.share_of_experts,
             .guessed = true};
    return;
  }
  if (cost_.guessed) cost_ = {.share_of_experts = cost_.share_of_experts};
  fit_sum();
  fit_factors();
}

void StepTimer::fit_sum() {
  constexpr int kPasses = 3;
  constexpr double kTypicalError = 0.2;  // relative; beyond it a sample counts less (Huber, 1964)
  const bool first = !cost_.measured();
  for (int pass = 0; pass < kPasses; ++pass) {
    Normal normal;
    for (const Ring& ring : rings_) {
      const int n = ring.n_kept();
      for (int i = 0; i < n; ++i) {
        const Sample& s = ring.samples[static_cast<size_t>(i)];
        const double error = std::abs(cost_.sum_ms(s.shape) - s.ms) / s.ms;
        const bool trusted = (pass == 0 && first) || error <= kTypicalError;
        // Each size with enough samples counts the same.
        const double weight =
            (trusted ? 1 : kTypicalError / error) / (s.ms * s.ms * std::max(n, kEnough));
        normal.add(parts_of(s.shape, cost_), s.ms, weight);
      }
    }
    Parts x = {cost_.fixed_ms, cost_.row_ms, cost_.context_ms, cost_.reach_ms, 0, cost_.experts_ms};
    normal.solve(x);
    cost_.fixed_ms = x[0];
    cost_.row_ms = x[1];
    cost_.context_ms = x[2];
    cost_.reach_ms = x[3];
    cost_.output_ms = x[4];
    cost_.experts_ms = x[5];
  }
}

void StepTimer::fit_factors() {
  bool larger = false;  // than the last step
  for (size_t size = 0; size < rings_.size(); ++size) {
    Ring& ring = rings_[size];
    if (larger && n_added_ - ring.latest > kForgets) ring.n_forgotten = ring.n;
    larger |= ring.latest == n_added_;
    const int n = std::min(ring.n - ring.n_forgotten, kKept);
    cost_.factors[size] = n < kEnough ? 0 : middle_ratio(ring, n);
  }
}

// The median ratio of the last n samples.
double StepTimer::middle_ratio(const Ring& ring, int n) const {
  std::array<double, kKept> ratios;
  for (int i = 0; i < n; ++i) {
    const Sample& s = ring.samples[static_cast<size_t>((ring.n - 1 - i) % kKept)];
    ratios[static_cast<size_t>(i)] = s.ms / cost_.sum_ms(s.shape);
  }
  const auto middle = ratios.begin() + (n - 1) / 2;
  std::nth_element(ratios.begin(), middle, ratios.begin() + n);
  return *middle;
}

}  // namespace ruv
