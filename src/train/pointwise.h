// Functions of one number with their slopes, and the entries that apply one in place. They are
// computed in float64, with functions of base/elementary.h, or by kernels in float32; the bits of
// both are those of every machine.
#pragma once

#include "tensor/nonlinear.h"
#include "train/train_team.h"

namespace ruv {

// The activations of layers.
struct ActPoint {
  Act act;
  double value(double x) const;
  double slope(double x) const;
};
// xIELU, whose numbers are not trained.
struct XieluPoint {
  Xielu numbers;
  double value(double x) const;
  double slope(double x) const;
};
// At the limits the slope is that inside.
struct ClampPoint {
  double limit;
  double value(double x) const { return x > limit ? limit : x < -limit ? -limit : x; }
  double slope(double x) const { return x > limit || x < -limit ? 0 : 1; }
};
// cap · tanh(x / cap)
struct CapPoint {
  double cap;
  double value(double x) const;
  double slope(double x) const;
};
// The logistic function.
double sigmoid_of(double x);
double sigmoid_slope(double x);

// An activation and its slope, of n numbers; `value` and `slope` may be x. Float32 by the functions
// of the kernels, as inference computes them, double as ActPoint.
template <class T>
struct ActRow {
  const Kernels& kernels;
  Act act;

  void values(T* x, int64_t n) const;
  // Neither is null, and only one of them is x.
  void values_and_slopes(const T* x, T* value, T* slope, int64_t n) const;
};

// x = f(x). Back: g = g · f'(x), of the x before.
template <class T, class Point>
class PointwiseEntry final : public TapeEntry<T> {
 public:
  PointwiseEntry(TrainTeam<T>& team, Adjoined<T> x, Point f) : team_(team), x_(x), f_(f) {}

  void run(bool keeps) override {
    if (keeps) kept_.keep(x_.values, x_.size(), team_);
    each_row(team_.pool, x_.n_rows, 8 * x_.n_cols, [&](int64_t i) {
      T* const x = x_.row(i);
      for (int64_t c = 0; c < x_.n_cols; ++c) x[c] = static_cast<T>(f_.value(double{x[c]}));
    });
  }
  void backward() override {
    each_row(team_.pool, x_.n_rows, 8 * x_.n_cols, [&](int64_t i) {
      T* const g = x_.adjoint(i);
      const T* const x = kept_.get() + i * x_.n_cols;
      for (int64_t c = 0; c < x_.n_cols; ++c) {
        g[c] = static_cast<T>(double{g[c]} * f_.slope(double{x[c]}));
      }
    });
  }
  void forget() override { kept_.drop(); }
  void use(MemoryUse<T>& use) const override { use.change(x_); }

 private:
  TrainTeam<T>& team_;
  Adjoined<T> x_;
  Point f_;
  KeptNumbers<T> kept_;
};

// gate = act(gate) · up. Back: d of up += g · act(gate), and g becomes g · up · act'(gate).
template <class T>
class GateEntry final : public TapeEntry<T> {
 public:
  GateEntry(TrainTeam<T>& team, Adjoined<T> gate, Adjoined<T> up, Act act)
      : team_(team), gate_(gate), up_(up), f_{team.kernels, act} {}

  void run(bool keeps) override;
  void backward() override;
  void forget() override;
  void use(MemoryUse<T>& use) const override;

 private:
  // Changes a row.
  void apply(T* gate, const T* up, int64_t n) const;

  TrainTeam<T>& team_;
  Adjoined<T> gate_, up_;
  ActRow<T> f_;
  KeptNumbers<T> kept_gate_, kept_up_;
};

}  // namespace ruv
