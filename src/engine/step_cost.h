// StepCost: a model of how long a step takes:
//
//   (fixed + rows · row + rows · context · c + context of each sequence · r) · factor of the size
//
// `fixed` is mostly reading the weights once; a row pays for its arithmetic and for the tokens that
// it attends to; a sequence pays once for reading its keys and values. The factor corrects for
// kernels that take rows in tiles. StepTimer learns the numbers from measured steps; the scheduler
// uses them to fill a step up to a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ruv {

// What a step, or a part of it, computes.
struct StepShape {
  int64_t n_rows = 0;
  double context = 0;  // tokens that each row looks back at, over all rows
  double reach = 0;    // tokens that each sequence looks back at, over all sequences

  // n rows of one sequence that follow `first` tokens.
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

  // Size classes, two per power of two of rows: 1, 2, 3, 4, 6, 8, 12, 16, 24 and so on.
  static constexpr int kSizes = 26;
  static int size_of(int64_t n_rows);
  static int64_t first_of(int size);
  // By size class: measured over modelled time. 0: not known, or forgotten.
  std::array<double, kSizes> factors = {};

  bool measured() const { return fixed_ms > 0 || row_ms > 0; }
  // The modelled time without the factor.
  double sum_ms(const StepShape& step) const {
    return fixed_ms + static_cast<double>(step.n_rows) * row_ms +
           (step.context * context_ms + step.reach * reach_ms) / kContextUnit;
  }
  double step_ms(const StepShape& step) const { return sum_ms(step) * factor(step.n_rows); }
  double factor(int64_t n_rows) const {
    const double known = factors[static_cast<size_t>(size_of(n_rows))];
    return known > 0 ? known : 1;
  }
  // The most rows of one sequence that follow `first` tokens with which `step` takes at most `ms`.
  // Requires: measured().
  int64_t rows_within(double ms, const StepShape& step, int64_t first) const;

 private:
  double rows_of_sum(double ms, int64_t first) const;
};

// Learns a StepCost. It keeps the last kKept steps of each size class, so that frequent sizes do
// not displace rare ones, and fits the sum by least squares of relative errors. Steps that took far
// longer than the fit says (the machine did something else) weigh little. A size's factor is the
// median of measured over fitted time of its last steps. A factor that has not been confirmed for
// long is forgotten, so that a size that once seemed too expensive is tried again. Not thread-safe.
class StepTimer {
 public:
  void add(const StepShape& shape, double ms);
  // All zeros until steps of different sizes have been added.
  const StepCost& cost() const { return cost_; }

 private:
  struct Sample {
    StepShape shape;
    double ms = 0;
  };
  static constexpr int kKept = 16;
  // Samples that a factor needs: the first steps of a process are slow, and single ones are held
  // up.
  static constexpr int kEnough = 6;
  // Steps after which a larger size than the current one is tried again. It is so rare that its
  // kEnough steps do not show in the percentiles that are commonly reported.
  static constexpr int64_t kForgets = 2000;
  struct Ring {
    std::array<Sample, kKept> samples;
    int n = 0;            // ever added
    int n_forgotten = 0;  // of these, forgotten for the factor
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
