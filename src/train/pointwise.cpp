#include "train/pointwise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/elementary.h"

namespace ruv {
namespace {

constexpr double kTanhInner = 0.044715;
const double kTanhScale = std::sqrt(2 / std::numbers::pi);
constexpr double kQuick = 1.702;

// Φ and its density.
double normal_below(double x) { return 0.5 * (1 + std::erf(x * (1 / std::numbers::sqrt2))); }
double normal_density(double x) {
  return exact_exp(-0.5 * x * x) * (1 / std::sqrt(2 * std::numbers::pi));
}

}  // namespace

double sigmoid_of(double x) { return 1 / (1 + exact_exp(-x)); }
double sigmoid_slope(double x) {
  const double y = sigmoid_of(x);
  return y * (1 - y);
}

// In float64, so that a value depends on its number alone and on no instruction set.
double ActPoint::value(double x) const {
  switch (act) {
    case Act::silu:
      return x * sigmoid_of(x);
    case Act::gelu_tanh:
      return 0.5 * x * (1 + exact_tanh(kTanhScale * (x + kTanhInner * x * x * x)));
    case Act::gelu:
      return x * normal_below(x);
    case Act::quick_gelu:
      return x * sigmoid_of(kQuick * x);
    case Act::relu:
      return x > 0 ? x : 0;
    case Act::relu2:
      return x > 0 ? x * x : 0;
    case Act::sigmoid:
      return sigmoid_of(x);
    case Act::tanh:
      return exact_tanh(x);
  }
  return 0;
}

// Where a function has a corner, the slope is that on the left.
double ActPoint::slope(double x) const {
  switch (act) {
    case Act::silu:
      return sigmoid_of(x) + x * sigmoid_slope(x);
    case Act::gelu_tanh: {
      const double t = exact_tanh(kTanhScale * (x + kTanhInner * x * x * x));
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kTanhScale * (1 + 3 * kTanhInner * x * x);
    }
    case Act::gelu:
      return normal_below(x) + x * normal_density(x);
    case Act::quick_gelu:
      return sigmoid_of(kQuick * x) + kQuick * x * sigmoid_slope(kQuick * x);
    case Act::relu:
      return x > 0 ? 1 : 0;
    case Act::relu2:
      return x > 0 ? 2 * x : 0;
    case Act::sigmoid:
      return sigmoid_slope(x);
    case Act::tanh: {
      const double t = exact_tanh(x);
      return 1 - t * t;
    }
  }
  return 0;
}

// Below `last` the exponential is that of `last`, as a constant.
double XieluPoint::value(double x) const {
  const double slope = double{numbers.slope};
  if (x > 0) return double{numbers.positive} * x * x + slope * x;
  const double low = std::min(x, double{numbers.last});
  return double{numbers.negative} * (exact_exp(low) - 1 - x) + slope * x;
}

double XieluPoint::slope(double x) const {
  const double slope = double{numbers.slope};
  if (x > 0) return 2 * double{numbers.positive} * x + slope;
  const double rise = x < double{numbers.last} ? exact_exp(x) : 0;
  return double{numbers.negative} * (rise - 1) + slope;
}

double CapPoint::value(double x) const { return cap * exact_tanh(x / cap); }
// 1 - tanh², at most 1.
double CapPoint::slope(double x) const {
  const double t = exact_tanh(x / cap);
  return 1 - t * t;
}

template <>
void ActRow<double>::values(double* x, int64_t n) const {
  const ActPoint f{act};
  for (int64_t i = 0; i < n; ++i) x[i] = f.value(x[i]);
}

template <>
void ActRow<float>::values(float* x, int64_t n) const {
  kernels.activate[static_cast<size_t>(act)](x, n);
}

template <class T>
void ActRow<T>::values_and_slopes(const T* x, T* value, T* slope, int64_t n) const {
  const ActPoint f{act};
  for (int64_t i = 0; i < n; ++i) {
    const auto at = double{x[i]};
    value[i] = static_cast<T>(f.value(at));
    slope[i] = static_cast<T>(f.slope(at));
  }
}

// With y the sigmoid, silu is x · y and its slope y · (1 + x · (1 - y)). The others are rare in
// gates, or have no kernel for what their slope needs.
template <>
void ActRow<float>::values_and_slopes(const float* x, float* value, float* slope, int64_t n) const {
  if (act != Act::silu) {
    const ActPoint f{act};
    for (int64_t i = 0; i < n; ++i) slope[i] = static_cast<float>(f.slope(double{x[i]}));
    std::copy_n(x, n, value);
    return values(value, n);
  }
  constexpr int64_t kPiece = 256;
  float y[kPiece];
  for (int64_t first = 0; first < n; first += kPiece) {
    const int64_t size = std::min(kPiece, n - first);
    std::copy_n(x + first, size, y);
    kernels.activate[static_cast<size_t>(Act::sigmoid)](y, size);
    for (int64_t i = 0; i < size; ++i) {
      const float at = x[first + i];
      value[first + i] = at * y[i];
      slope[first + i] = y[i] * (1 + at * (1 - y[i]));
    }
  }
}

// Activation and product in one go over a row.
template <>
void GateEntry<float>::apply(float* gate, const float* up, int64_t n) const {
  f_.kernels.gate[static_cast<size_t>(f_.act)](gate, up, n);
}

template <>
void GateEntry<double>::apply(double* gate, const double* up, int64_t n) const {
  f_.values(gate, n);
  for (int64_t c = 0; c < n; ++c) gate[c] *= up[c];
}

template <class T>
void GateEntry<T>::run(bool keeps) {
  if (keeps) {
    kept_gate_.keep(gate_.values, gate_.size(), team_);
    kept_up_.keep(up_.values, up_.size(), team_);
  }
  each_row(team_.pool, gate_.n_rows, 8 * gate_.n_cols,
           [&](int64_t i) { apply(gate_.row(i), up_.row(i), gate_.n_cols); });
}

// The gate's adjoint is written in place of that of the result, which it shares memory with.
template <class T>
void GateEntry<T>::backward() {
  each_row(team_.pool, gate_.n_rows, 8 * gate_.n_cols, [&](int64_t i) {
    constexpr int64_t kPiece = 256;
    T value[kPiece], slope[kPiece];
    for (int64_t first = 0; first < gate_.n_cols; first += kPiece) {
      const int64_t n = std::min(kPiece, gate_.n_cols - first);
      const int64_t at = i * gate_.n_cols + first;
      T* const g = gate_.adjoints + at;
      T* const up_g = up_.adjoints + at;
      const T* const up = kept_up_.get() + at;
      f_.values_and_slopes(kept_gate_.get() + at, value, slope, n);
      for (int64_t c = 0; c < n; ++c) {
        up_g[c] += g[c] * value[c];
        g[c] *= up[c] * slope[c];
      }
    }
  });
}

template <class T>
void GateEntry<T>::forget() {
  kept_gate_.drop();
  kept_up_.drop();
}

template <class T>
void GateEntry<T>::use(MemoryUse<T>& use) const {
  use.change(gate_);
  use.read(up_);
}

template struct ActRow<float>;
template struct ActRow<double>;
template class GateEntry<float>;
template class GateEntry<double>;

}  // namespace ruv
