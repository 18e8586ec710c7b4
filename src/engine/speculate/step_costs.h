// StepCosts: how long a step of n rows takes, learned from measured steps. The costs of all row
// counts rise together as contexts grow, so they are stored as a level times a shape: a measurement
// of one count moves the others along.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ruv {

class StepCosts {
 public:
  static constexpr int64_t kMaxRows = 256;  // larger steps count as this large and are not learned

  // A step of n_rows decode and draft rows, without prompt chunks, took ms.
  void record(int64_t n_rows, double ms);
  // The milliseconds of a step of n_rows: measured, interpolated between measured neighbours, or
  // extrapolated along their line. 0 before the first measurement.
  double of(int64_t n_rows) const;
  // As `of`, but an upper bound where nothing is measured: the next measured count's time, or
  // beyond all of them one plain step more for each row.
  double at_most(int64_t n_rows) const;
  bool measured(int64_t n_rows) const { return n_rows <= kMaxRows && known(n_rows); }

 private:
  static constexpr double kLevelWeight = 0.1;    // weight of a measurement in the level
  static constexpr double kShapeWeight = 0.03;   // and in the shape, after the first ones
  static constexpr double kGuessedSlope = 0.25;  // of a plain step for each row, with one measured
  // A count that took long once or twice and was not chosen since is forgotten after this many
  // steps: the first steps of a count are cold, and nothing else would ever correct them.
  static constexpr double kConfirmed = 3;
  static constexpr int64_t kForgets = 64;

  struct Count {
    double shape = 0;
    double weight = 0;   // measurements so far, up to 1 / kShapeWeight
    int64_t latest = 0;  // n_records_ then
    double least = 0;    // of the shapes of this count and larger ones; 0: this one is not known
  };

  void learn(Count& count, double ms, double expected_ms);
  void refresh();
  int64_t below(int64_t n_rows) const;  // the nearest measured count; 0: none
  int64_t above(int64_t n_rows) const;
  double slope() const;
  double shape(int64_t n_rows) const { return counts_[static_cast<size_t>(n_rows)].least; }
  bool known(int64_t n_rows) const { return shape(n_rows) > 0; }

  double level_ = 0;
  int64_t n_records_ = 0;
  std::array<Count, kMaxRows + 1> counts_{};
};

}  // namespace ruv
