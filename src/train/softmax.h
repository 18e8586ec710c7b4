// The sums of training's rows: exponentials, and products in lanes. Both have one order of their
// own, whatever the machine, and leave the processor room to add side by side.
#pragma once

#include <algorithm>
#include <cmath>

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
