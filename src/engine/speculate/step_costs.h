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
  static constexpr int64_t kMaxRows = 128;  // larger steps count as this large and are not learned

  // A step of n_rows decode and draft rows, without prompt chunks, took ms.
  void record(int64_t n_rows, double ms);
  // ms of a step of n_rows: measured, between measured neighbours, or guessed from the nearest
  // one. 0 before the first measurement; at least 1 row.
  double of(int64_t n_rows) const;
  bool measured(int64_t n_rows) const { return n_rows <= kMaxRows && weight(n_rows) > 0; }

 private:
  static constexpr double kWeight = 0.1;         // of a measurement among earlier ones
  static constexpr double kGuessedSlope = 0.25;  // of one step for each further row, unmeasured

  double weight(int64_t n_rows) const { return weights_[static_cast<size_t>(n_rows)]; }
  double shape(int64_t n_rows) const { return shapes_[static_cast<size_t>(n_rows)]; }

  double level_ = 0;
  std::array<double, kMaxRows + 1> shapes_{};
  std::array<double, kMaxRows + 1> weights_{};  // measurements so far, up to 1 / kWeight
};

}  // namespace ruv
