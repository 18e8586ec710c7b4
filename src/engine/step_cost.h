// StepCost: how long a step takes: a sum of four parts (what every step costs as the weights are
// read once, what a row costs, what a row pays for the tokens it looks back at, what a sequence
// pays for reading them) times a factor of the step's size, since kernels take rows in tiles.
// StepTimer learns it from measured steps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ruv {

// What a step computes, or part of it.
struct StepShape {
  int64_t n_rows = 0;
  double context = 0;  // tokens that each row looks back at, over all rows
  double reach = 0;    // tokens that each sequence looks back at, over all sequences

  // n rows of one sequence behind `first` tokens.
  static StepShape of(int64_t first, int64_t n) {
    const auto rows = static_cast<double>(n);
    const auto before = static_cast<double>(first);
    return {n, rows * (before + rows / 2), before + rows};
  }
  StepShape operator+(const StepShape& other) const {
    return {n_rows + other.n_rows, context + other.context, reach + other.reach};
  }
};

struct StepCost {
  double fixed_ms = 0;
  double row_ms = 0;
  double context_ms = 0;  // of one row and 1024 tokens of context
  double reach_ms = 0;    // of one sequence and 1024 tokens of context
  static constexpr double kContextUnit = 1024;

  // Sizes: two to each power of two of rows: 1, 2, 3, 4, 6, 8, 12, 16, 24 and so on.
  static constexpr int kSizes = 26;
  static int size_of(int64_t n_rows);
  static int64_t first_of(int size);
  // Of steps of a size: how many times the sum they take. 0: not known, or not any more.
  std::array<double, kSizes> factors = {};

  bool measured() const { return fixed_ms > 0 || row_ms > 0; }
  // The sum, without the factor.
  double sum_ms(const StepShape& step) const {
    return fixed_ms + static_cast<double>(step.n_rows) * row_ms +
           (step.context * context_ms + step.reach * reach_ms) / kContextUnit;
  }
  double step_ms(const StepShape& step) const { return sum_ms(step) * factor(step.n_rows); }
  double factor(int64_t n_rows) const {
    const double known = factors[static_cast<size_t>(size_of(n_rows))];
    return known > 0 ? known : 1;
  }
  // The most rows of one sequence behind `first` tokens with which `step` takes no longer than
  // `ms`. Requires: measured().
  int64_t rows_within(double ms, const StepShape& step, int64_t first) const;

 private:
  double rows_of_sum(double ms, int64_t first) const;
};

// Keeps the last steps of each size, so that steps of one size do not push out what is known of
// others, and fits the sum by least squares of relative errors; steps that took far longer than the
// fit says (the machine did something else) count little. A size's factor is the median of what its
// last steps took beyond the sum; where no step had this size for long, it is forgotten: a size
// that seems too dear is tried again.
class StepTimer {
 public:
  void add(const StepShape& shape, double ms);
  // Zeros until steps of different sizes were seen.
  const StepCost& cost() const { return cost_; }

 private:
  struct Sample {
    StepShape shape;
    double ms = 0;
  };
  static constexpr int kKept = 16;
  // For a factor: the first steps of a process are slow, and single ones are held up.
  static constexpr int kEnough = 6;
  // Steps after which a larger size than is taken now is tried again: so rarely that its kEnough
  // steps stay outside of the percentiles that anybody looks at.
  static constexpr int64_t kForgets = 2000;
  struct Ring {
    std::array<Sample, kKept> samples;
    int n = 0;            // ever added
    int n_forgotten = 0;  // of them, for the factor
    int64_t latest = 0;   // n_added_ then
    int n_kept() const { return n < kKept ? n : kKept; }
  };
  void fit();
  void fit_sum();
  void fit_factors();
  double middle_ratio(const Ring& ring, int n) const;

  std::array<Ring, StepCost::kSizes> rings_;
  int64_t n_added_ = 0;
  StepCost cost_;
};

}  // namespace ruv
