// StepCost: how long a step takes, as a sum of three parts: what every step costs (the weights are
// read once), what a row costs, and what a row pays for each token it looks back at.
#pragma once

#include <cstdint>

namespace ruv {

struct StepCost {
  double fixed_ms = 0;
  double row_ms = 0;
  double context_ms = 0;  // of one row and 1024 tokens of context

  bool measured() const { return fixed_ms > 0 || row_ms > 0; }
  // n rows of one sequence behind `first` tokens, without the fixed part.
  double rows_ms(int64_t first, int64_t n) const {
    const auto rows = static_cast<double>(n);
    return rows * row_ms +
           rows * (static_cast<double>(first) + rows / 2) * context_ms / kContextUnit;
  }
  static constexpr double kContextUnit = 1024;
};

}  // namespace ruv
