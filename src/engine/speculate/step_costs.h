// StepCosts: what a step of so many rows takes, learned from the steps themselves. Costs of all row
// counts rise together as contexts grow, so they are kept as a level and a shape: a measurement of
// one count moves the others along.
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
  // ms of a step of n_rows: measured, between measured neighbours, or beyond them along the line of
  // the measured ones. 0 before the first measurement.
  double of(int64_t n_rows) const;
  // As `of`, but where nothing is measured what it takes at most: the next measured count's time,
  // or beyond all of them a whole plain step more for each row.
  double at_most(int64_t n_rows) const;
  bool measured(int64_t n_rows) const { return n_rows <= kMaxRows && weight(n_rows) > 0; }

 private:
  static constexpr double kLevelWeight = 0.1;    // of a measurement in the level
  static constexpr double kShapeWeight = 0.03;   // and, after the first ones, in the shape
  static constexpr double kGuessedSlope = 0.25;  // of a plain step for each row, with one measured

  double weight(int64_t n_rows) const { return weights_[static_cast<size_t>(n_rows)]; }
  int64_t below(int64_t n_rows) const;  // the nearest measured count; 0: none
  int64_t above(int64_t n_rows) const;
  double slope() const;
  double shape(int64_t n_rows) const { return shapes_[static_cast<size_t>(n_rows)]; }

  double level_ = 0;
  std::array<double, kMaxRows + 1> shapes_{};
  std::array<double, kMaxRows + 1> weights_{};  // measurements so far, up to 1 / kShapeWeight
};

}  // namespace ruv
