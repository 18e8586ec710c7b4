// StepCost: a model of how long a step takes:
//
//   (fixed + rows · row + rows · context · c + context of each sequence · r + outputs · o
//     + share of the experts that are read · e) · factor of the size
//
// `fixed` is mostly reading the weights once, but those of experts only where a row uses them; a
// row pays for its arithmetic and for the tokens that it attends to; a sequence pays once for
// reading its keys and values; an output pays for its logits. The factor corrects for kernels that
// take rows in tiles. StepTimer learns the numbers from the measured steps of one model. The
// scheduler asks it to fill a step up to a time, and drafting asks it what more rows cost.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace ruv {

// What a step, or a part of it, computes.
struct StepShape {
  int64_t n_rows = 0;
  double context = 0;     // tokens that each row looks back at, over all rows
  double reach = 0;       // tokens that each sequence looks back at, over all sequences
  int64_t n_outputs = 0;  // rows that give logits

  // n rows of one sequence that follow `first` tokens; n_outputs of them give logits.
  static StepShape of(int64_t first, int64_t n, int64_t n_outputs = 0) {
    const auto rows = static_cast<double>(n);
    const auto before = static_cast<double>(first);
    return {n, rows * (before + rows / 2), before + rows, n_outputs};
  }
  // n draft rows of a sequence that has `first` tokens and a row in the step already.
  static StepShape drafts(int64_t first, int64_t n) {
    StepShape shape = of(first, n, n);
    shape.reach = static_cast<double>(n);
    return shape;
  }
  StepShape operator+(const StepShape& other) const {
    return {n_rows + other.n_rows, context + other.context, reach + other.reach,
            n_outputs + other.n_outputs};
  }
};

struct StepCost {
  double fixed_ms = 0;
  double row_ms = 0;
  double context_ms = 0;  // of one row and 1024 tokens of context
  double reach_ms = 0;    // of one sequence and 1024 tokens of context
  double output_ms = 0;
  double experts_ms = 0;        // all experts of all layers
  double share_of_experts = 0;  // that one row uses; 0: the model has none
  static constexpr double kContextUnit = 1024;

  // Size classes: each number of rows to 16 by itself, since drafts are chosen row by row, then two
  // per power of two, from 17, 24, 32, 48 and so on.
  static constexpr int kExactSizes = 16;
  static constexpr int kSizes = kExactSizes + 18;
  static int size_of(int64_t n_rows);
  static int64_t first_of(int size);
  // By size class: measured over modelled time. 0: not known, or forgotten.
  std::array<double, kSizes> factors = {};
  bool guessed = false;  // all steps so far had one size: more rows are a guess

  // The share of the experts that n rows use, if each chooses without regard to the others: those
  // of one text agree more, so that this is rather too much.
  double share_read(int64_t n_rows) const {
    return share_of_experts > 0 ? 1 - std::pow(1 - share_of_experts, static_cast<double>(n_rows))
                                : 0;
  }
  bool measured() const { return !guessed && (fixed_ms > 0 || row_ms > 0); }
  // The modelled time without the factor.
  double sum_ms(const StepShape& step) const {
    return fixed_ms + static_cast<double>(step.n_rows) * row_ms +
           (step.context * context_ms + step.reach * reach_ms) / kContextUnit +
           static_cast<double>(step.n_outputs) * output_ms + share_read(step.n_rows) * experts_ms;
  }
  // 0: no step has been measured.
  double step_ms(const StepShape& step) const { return sum_ms(step) * factor(step.n_rows); }
  double factor(int64_t n_rows) const {
    const double known = factors[static_cast<size_t>(size_of(n_rows))];
    return known > 0 ? known : 1;
  }
  // The most rows of one sequence, without outputs, that follow `first` tokens with which `step`
  // takes at most `ms`; of models with experts it may be a few less. Requires: measured().
  int64_t rows_within(double ms, const StepShape& step, int64_t first) const;

 private:
  double rows_of_sum(double ms, int64_t first) const;
};

// Learns a StepCost. It keeps the last kKept steps of each size class, so that frequent sizes do
// not displace rare ones, and fits the sum by least squares of relative errors. Steps that took far
// longer than the fit says (the machine did something else) weigh little, and so do sizes with few
// steps. A size's factor is the median of measured over fitted time of its last steps. A factor
// that has not been confirmed for long is forgotten, so that a size that once seemed too expensive
// is tried again. Not thread-safe.
class StepTimer {
 public:
  // The share of its experts that a row of the model uses; 0: it has none.
  explicit StepTimer(double share_of_experts = 0) { cost_.share_of_experts = share_of_experts; }

  void add(const StepShape& shape, double ms);
  // Times are all zero until a step has been added.
  const StepCost& cost() const { return cost_; }
  // Whether a step of this size class has been added.
  bool has_seen(int64_t n_rows) const { return ring_of(n_rows).n > 0; }
  // Whether a step of this size class should be measured: the first kFirst at once, the next ones
  // until it has a factor every kSeconds steps, then every kRefreshes.
  bool is_due(int64_t n_rows) const {
    const auto size = static_cast<size_t>(StepCost::size_of(n_rows));
    const int64_t n_since = n_added_ - rings_[size].latest;
    if (cost_.factors[size] > 0) return n_since >= kRefreshes;
    return n_since >= (rings_[size].n < kFirst ? 1 : kSeconds);
  }

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
  // Steps after which a size is due again. Lower values follow the machine more closely and make
  // more steps do without drafts.
  static constexpr int64_t kRefreshes = 32;
  // At the start, when little is known: a plain step costs a process that drafts well a few tokens.
  static constexpr int kFirst = 2;
  static constexpr int64_t kSeconds = 8;
  // While all steps have had one size, each further row is taken to cost this share of a step of
  // one row.
  static constexpr double kGuessedSlope = 0.25;
  struct Ring {
    std::array<Sample, kKept> samples;
    int n = 0;            // ever added
    int n_forgotten = 0;  // of these, forgotten for the factor
    int64_t latest = 0;   // n_added_ then
    int n_kept() const { return n < kKept ? n : kKept; }
  };
  const Ring& ring_of(int64_t n_rows) const {
    return rings_[static_cast<size_t>(StepCost::size_of(n_rows))];
  }
  void fit(const Sample& latest);
  void fit_sum();
  void fit_factors();
  double middle_ratio(const Ring& ring, int n) const;

  std::array<Ring, StepCost::kSizes> rings_;
  int64_t n_added_ = 0;
  StepCost cost_;
};

}  // namespace ruv
