// StepCost: how long a step takes, as a sum of three parts: what every step costs (the weights are
// read once), what a row costs, and what a row pays for the tokens it looks back at. StepTimer
// learns it from measured steps.
#pragma once

#include <array>
#include <cstdint>

namespace ruv {

struct StepCost {
  double fixed_ms = 0;
  double row_ms = 0;
  double context_ms = 0;  // of one row and 1024 tokens of context
  static constexpr double kContextUnit = 1024;

  bool measured() const { return fixed_ms > 0 || row_ms > 0; }
  // Tokens that n rows of one sequence behind `first` tokens look back at, together.
  static double context_of(int64_t first, int64_t n) {
    const auto rows = static_cast<double>(n);
    return rows * (static_cast<double>(first) + rows / 2);
  }
  // Such rows without the fixed part.
  double rows_ms(int64_t first, int64_t n) const {
    return static_cast<double>(n) * row_ms + context_of(first, n) * context_ms / kContextUnit;
  }
  // The most such rows that take no longer than `ms`. Requires: measured().
  int64_t rows_within(double ms, int64_t first) const;
};

// What a step computed: the fit's two variables.
struct StepShape {
  int64_t n_rows = 0;
  double context = 0;  // sum of StepCost::context_of over its sequences
};

// Keeps the last steps of each size, so that steps of one size do not push out what is known of
// others, and fits them by least squares of relative errors; steps that took far longer than the
// fit says (the machine did something else) count little.
class StepTimer {
 public:
  void add(const StepShape& shape, double ms);
  // Zeros until steps of different sizes were seen.
  const StepCost& cost() const { return cost_; }

 private:
  struct Sample {
    double rows = 0;
    double context = 0;  // in StepCost::kContextUnit
    double ms = 0;
  };
  static constexpr int kSizes = 12;  // powers of two of rows
  static constexpr int kKept = 16;
  struct Ring {
    std::array<Sample, kKept> samples;
    int n = 0;  // ever added
  };
  void fit();

  std::array<Ring, kSizes> rings_;
  int64_t n_added_ = 0;
  StepCost cost_;
};

}  // namespace ruv
