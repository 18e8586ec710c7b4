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

// Activation and product in one go over a row.
template <class T>
void GateEntry<T>::run(bool keeps) {
  if (keeps) {
    kept_gate_.keep(gate_.values, gate_.size(), team_.kept);
    kept_up_.keep(up_.values, up_.size(), team_.kept);
  }
  each_row(team_.pool, gate_.n_rows, 8 * gate_.n_cols, [&](int64_t i) {
    T* const gate = gate_.row(i);
    const T* const up = up_.row(i);
    for (int64_t c = 0; c < gate_.n_cols; ++c) {
      gate[c] = static_cast<T>(f_.value(double{gate[c]}) * double{up[c]});
    }
  });
}

// The gate's adjoint is written in place of that of the result, which it shares memory with.
template <class T>
void GateEntry<T>::backward() {
  each_row(team_.pool, gate_.n_rows, 8 * gate_.n_cols, [&](int64_t i) {
    T* const g = gate_.adjoint(i);
    T* const up_g = up_.adjoint(i);
    const T* const gate = kept_gate_.get() + i * gate_.n_cols;
    const T* const up = kept_up_.get() + i * gate_.n_cols;
    for (int64_t c = 0; c < gate_.n_cols; ++c) {
      const double of_out = double{g[c]};
      up_g[c] += static_cast<T>(of_out * f_.value(double{gate[c]}));
      g[c] = static_cast<T>(of_out * double{up[c]} * f_.slope(double{gate[c]}));
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

template class GateEntry<float>;
template class GateEntry<double>;

}  // namespace ruv
