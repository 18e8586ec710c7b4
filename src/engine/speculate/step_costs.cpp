#include "engine/speculate/step_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ruv {
namespace {

double rows(int64_t from, int64_t to) { return static_cast<double>(to - from); }

}  // namespace

void StepCosts::record(int64_t n_rows, double ms) {
  if (n_rows < 1 || n_rows > kMaxRows || !(ms > 0)) return;
  if (level_ == 0) level_ = ms;
  ++n_records_;
  Count& count = counts_[static_cast<size_t>(n_rows)];
  if (!known(n_rows)) count.weight = 0;
  learn(count, ms, of(n_rows));
  count.latest = n_records_;
  refresh();
}

void StepCosts::learn(Count& count, double ms, double expected_ms) {
  count.weight = std::min(count.weight + 1, 1 / kShapeWeight);
  if (count.weight <= 2) {  // the second step is warm
    count.shape = ms / level_;
    return;
  }
  // A step that something else on the machine held up says little.
  const double error = std::clamp(ms / expected_ms, 0.5, 2.0);
  count.shape *= std::pow(error, 1 / count.weight);
  level_ *= std::pow(error, kLevelWeight);
}

void StepCosts::refresh() {
  double least = std::numeric_limits<double>::infinity();
  for (int64_t n = kMaxRows; n > 0; --n) {
    Count& count = counts_[static_cast<size_t>(n)];
    const bool fresh = n_records_ - count.latest <= kForgets;
    count.least = 0;
    if (count.weight < (fresh ? 1 : kConfirmed)) continue;
    least = std::min(least, count.shape);
    count.least = least;
  }
}

int64_t StepCosts::below(int64_t n_rows) const {
  while (--n_rows > 0 && !known(n_rows)) {
  }
  return n_rows;
}

int64_t StepCosts::above(int64_t n_rows) const {
  while (++n_rows <= kMaxRows && !known(n_rows)) {
  }
  return n_rows <= kMaxRows ? n_rows : 0;
}

// The slope of the shape per row, from the smallest to the largest measured count.
double StepCosts::slope() const {
  const int64_t first = above(0);
  const int64_t last = below(kMaxRows + 1);
  if (first == last) return shape(first) * kGuessedSlope / (1 + kGuessedSlope * rows(1, first));
  return std::max(0.0, (shape(last) - shape(first)) / rows(first, last));
}

double StepCosts::of(int64_t n_rows) const {
  if (level_ == 0) return 0;
  n_rows = std::clamp<int64_t>(n_rows, 1, kMaxRows);
  if (known(n_rows)) return level_ * shape(n_rows);
  const int64_t lower = below(n_rows);
  const int64_t upper = above(n_rows);
  if (lower > 0 && upper > 0) {
    const double share = rows(lower, n_rows) / rows(lower, upper);
    return level_ * (shape(lower) * (1 - share) + shape(upper) * share);
  }
  if (lower > 0) return level_ * (shape(lower) + slope() * rows(lower, n_rows));
  return level_ * std::max(shape(upper) / 4, shape(upper) - slope() * rows(n_rows, upper));
}

double StepCosts::at_most(int64_t n_rows) const {
  if (level_ == 0) return 0;
  n_rows = std::clamp<int64_t>(n_rows, 1, kMaxRows);
  if (known(n_rows)) return level_ * shape(n_rows);
  if (const int64_t upper = above(n_rows); upper > 0) return level_ * shape(upper);
  const int64_t lower = below(n_rows);
  return level_ * shape(lower) + of(1) * rows(lower, n_rows);
}

}  // namespace ruv
