// The sums of training's rows: exponentials, and products in lanes. Both have one order of their
// own, whatever the machine, and leave the processor room to add side by side.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/elementary.h"
#include "kernels/kernels.h"

namespace ruv {

// Numbers that must have room where exponentials of n are computed.
constexpr int64_t room_for_exponentials(int64_t n) {
  return (n + kPageTokens - 1) / kPageTokens * kPageTokens;
}

// The greatest of n numbers, -infinity of none. May write to the room after them.
inline double greatest_of(const Kernels& kernels, float* x, int64_t n) {
  const int64_t room = room_for_exponentials(n);
  std::fill(x + n, x + room, -INFINITY);
  return double{kernels.largest(x, room)};
}
inline double greatest_of(const Kernels& /*kernels*/, double* x, int64_t n) {
  double most = -INFINITY;
  for (int64_t i = 0; i < n; ++i) most = std::max(most, x[i]);
  return most;
}

// x[i] = e^(x[i] - most), and their sum. May write to the room after them. Float32 by the kernel,
// double with exact_exp.
inline double take_exponentials(const Kernels& kernels, float* x, int64_t n, double most) {
  const int64_t room = room_for_exponentials(n);
  std::fill(x + n, x + room, -INFINITY);
  return double{kernels.exp_sum(x, room, static_cast<float>(most))};
}
inline double take_exponentials(const Kernels& /*kernels*/, double* x, int64_t n, double most) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] = exact_exp(x[i] - most);
  return sum;
}

// The softmax of a row of logits / temperature.
template <class T>
class RowSoftmax {
 public:
  // May be called again, for other rows.
  void take(const T* logits, int64_t n, double temperature = 1) {
    const Kernels& kernels = portable_kernels();
    parts_.resize(static_cast<size_t>(room_for_exponentials(n)));
    const auto warmth = static_cast<T>(1 / temperature);
    for (int64_t c = 0; c < n; ++c) parts_[static_cast<size_t>(c)] = logits[c] * warmth;
    most_ = greatest_of(kernels, parts_.data(), n);
    sum_ = take_exponentials(kernels, parts_.data(), n, most_);
    log_sum_ = exact_log(sum_);
    warmth_ = 1 / temperature;
  }
  // Shares are parts over their sum.
  std::span<const T> parts() const { return parts_; }
  double sum() const { return sum_; }
  // The logarithm of the share of one of the row's logits.
  double log_share(T logit) const { return double{logit} * warmth_ - most_ - log_sum_; }

 private:
  std::vector<T> parts_;  // and room
  double most_ = 0, sum_ = 0, log_sum_ = 0, warmth_ = 1;
};

// Σ f(i) for i below n: lane i % 8 has every eighth term, and lanes are added in their order.
template <class F>
double sum_in_lanes(int64_t n, F&& f) {
  constexpr int64_t kLanes = 8;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += f(i + lane);
  }
  for (int64_t lane = 0; i < n; ++i, ++lane) lanes[lane] += f(i);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace ruv
