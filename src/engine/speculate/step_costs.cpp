#include "engine/speculate/step_costs.h"

#include <algorithm>
#include <cmath>

namespace ruv {

void StepCosts::record(int64_t n_rows, double ms) {
  if (n_rows < 1 || n_rows > kMaxRows || !(ms > 0)) return;
  const auto index = static_cast<size_t>(n_rows);
  if (level_ == 0) level_ = ms;
  if (weights_[index] == 0) {
    shapes_[index] = ms / level_;
    weights_[index] = 1;
    return;
  }
  // A step that something else on the machine held up says little.
  const double error = std::clamp(ms / of(n_rows), 0.5, 2.0);
  weights_[index] = std::min(weights_[index] + 1, 1 / kWeight);
  shapes_[index] *= std::pow(error, 1 / weights_[index]);
  level_ *= std::pow(error, kWeight);
}

double StepCosts::of(int64_t n_rows) const {
  if (level_ == 0) return 0;
  n_rows = std::clamp<int64_t>(n_rows, 1, kMaxRows);
  if (weight(n_rows) > 0) return level_ * shape(n_rows);
  int64_t below = n_rows - 1;
  while (below > 0 && weight(below) == 0) --below;
  int64_t above = n_rows + 1;
  while (above <= kMaxRows && weight(above) == 0) ++above;
  const auto distance = [](int64_t from, int64_t to) { return static_cast<double>(to - from); };
  if (below > 0 && above <= kMaxRows) {
    const double share = distance(below, n_rows) / distance(below, above);
    return level_ * (shape(below) * (1 - share) + shape(above) * share);
  }
  if (below > 0) return level_ * shape(below) * (1 + kGuessedSlope * distance(below, n_rows));
  return level_ * shape(above) / (1 + kGuessedSlope * distance(n_rows, above));
}

}  // namespace ruv
