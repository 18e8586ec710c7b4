// Entries of a tape that compute rows from rows. What each means is said at the operation of its
// name (device/ops.h); here is what its walk back does, with g the adjoint of the result and d of
// the others:
//
//   copy         dx += g; g = 0
//   add          dy += g
//   scale        g = factor · g
//   multiply     dy += g · x; g = g · y
//   add_scaled   dy += factor · g; d of the factor += Σ g · y
//   lerp         d of the share += g · (y - x); dx += g · (1 - share); dy += g · share; g = 0
//   gather       dx[rows[i]] += g[i]; g = 0
//   join         da += the first columns of g, db += the others; g = 0
//   rope         g is turned back
//   norm         see NormEntry::backward; g = 0
//
// Where the result is one of the inputs, g is read before anything is added to it.
#pragma once

#include <optional>

#include "device/ops.h"
#include "train/train_team.h"

namespace ruv {

// What most of them are. A class that keeps copies of its inputs overrides forget(); the others
// need no numbers of the way forward on the way back.
template <class T>
class RowsEntry : public TapeEntry<T> {
 public:
  explicit RowsEntry(TrainTeam<T>& team) : team_(team) {}
  void forget() override {}

 protected:
  // f(row) for the rows of x.
  template <class F>
  void rows(const Adjoined<T>& x, F&& f) {
    each_row(team_.pool, x.n_rows, x.n_cols, f);
  }
  TrainTeam<T>& team_;
};

// out = x
template <class T>
class CopyEntry final : public RowsEntry<T> {
 public:
  CopyEntry(TrainTeam<T>& team, Adjoined<T> out, Adjoined<T> x)
      : RowsEntry<T>(team), out_(out), x_(x) {}
  void run(bool keeps) override;
  void backward() override;
  void use(MemoryUse<T>& use) const override;

 private:
  Adjoined<T> out_, x_;
};

// x += y
template <class T>
class AddEntry final : public RowsEntry<T> {
 public:
  AddEntry(TrainTeam<T>& team, Adjoined<T> x, Adjoined<T> y) : RowsEntry<T>(team), x_(x), y_(y) {}
  void run(bool keeps) override;
  void backward() override;
  void use(MemoryUse<T>& use) const override;
  bool ends_segment() const override { return true; }

 private:
  Adjoined<T> x_, y_;
};

// Row r times factors[r], or all times the only one. Factors are numbers of the model or of the
// step, not of memory, and are not trained.
template <class T>
class ScaleEntry final : public RowsEntry<T> {
 public:
  ScaleEntry(TrainTeam<T>& team, Adjoined<T> x, std::vector<double> factors)
      : RowsEntry<T>(team), x_(x), factors_(std::move(factors)) {}
  void run(bool keeps) override;
  void backward() override { scale(true); }
  void use(MemoryUse<T>& use) const override { use.change(x_); }

 private:
  // Numbers or adjoints: both are multiplied alike.
  void scale(bool adjoints);

  Adjoined<T> x_;
  std::vector<double> factors_;
};

// x = x · y, y of one row or as many, of one column or as many.
template <class T>
class MultiplyEntry final : public RowsEntry<T> {
 public:
  MultiplyEntry(TrainTeam<T>& team, Adjoined<T> x, Adjoined<T> y)
      : RowsEntry<T>(team), x_(x), y_(y) {}
  void run(bool keeps) override;
  void backward() override;
  void forget() override;
  void use(MemoryUse<T>& use) const override;

 private:
  // Where y has the factor of number c of row i.
  int64_t at(int64_t i, int64_t c) const {
    return (y_.n_rows == 1 ? 0 : i) * y_.n_cols + (y_.n_cols == 1 ? 0 : c);
  }
  Adjoined<T> x_, y_;
  KeptNumbers<T> kept_x_, kept_y_;
};

// x[r] += (values[r][column] + offset) · y[r]
template <class T>
class AddScaledEntry final : public RowsEntry<T> {
 public:
  // One number of each row of `values`.
  struct Factors {
    Adjoined<T> values;
    int64_t column;
    double offset;
  };
  AddScaledEntry(TrainTeam<T>& team, Adjoined<T> x, Adjoined<T> y, Factors factors)
      : RowsEntry<T>(team), x_(x), y_(y), factors_(factors) {}
  void run(bool keeps) override;
  void backward() override;
  void forget() override;
  void use(MemoryUse<T>& use) const override;

 private:
  Adjoined<T> x_, y_;
  Factors factors_;
  KeptNumbers<T> kept_y_, kept_values_;
};

// out = x + (y - x) · share
template <class T>
class LerpEntry final : public RowsEntry<T> {
 public:
  LerpEntry(TrainTeam<T>& team, Adjoined<T> out, Adjoined<T> x, Adjoined<T> y, Adjoined<T> share)
      : RowsEntry<T>(team), out_(out), x_(x), y_(y), share_(share) {}
  void run(bool keeps) override;
  void backward() override;
  void forget() override;
  void use(MemoryUse<T>& use) const override;

 private:
  Adjoined<T> out_, x_, y_, share_;
  KeptNumbers<T> kept_difference_, kept_share_;
};

// out[i] = x[rows[i]]; a row may be there several times.
template <class T>
class GatherEntry final : public RowsEntry<T> {
 public:
  GatherEntry(TrainTeam<T>& team, Adjoined<T> out, Adjoined<T> x, std::vector<int32_t> rows)
      : RowsEntry<T>(team), out_(out), x_(x), rows_(std::move(rows)) {}
  void run(bool keeps) override;
  void backward() override;
  void use(MemoryUse<T>& use) const override;

 private:
  Adjoined<T> out_, x_;
  std::vector<int32_t> rows_;
};

// Rows of `a`, followed by those of `b`.
template <class T>
class JoinEntry final : public RowsEntry<T> {
 public:
  JoinEntry(TrainTeam<T>& team, Adjoined<T> out, Adjoined<T> a, Adjoined<T> b)
      : RowsEntry<T>(team), out_(out), a_(a), b_(b) {}
  void run(bool keeps) override;
  void backward() override;
  void use(MemoryUse<T>& use) const override;

 private:
  Adjoined<T> out_, a_, b_;
};

// Cosines and sines by row and pair, times the plan's magnitude. Entries of all layers that turn by
// one plan share them.
struct RopeTurns {
  int64_t n_pairs = 0;
  std::vector<double> cos, sin;
};

// Turns the pairs of each head, and their adjoints back.
template <class T>
class RopeEntry final : public RowsEntry<T> {
 public:
  RopeEntry(TrainTeam<T>& team, Adjoined<T> x, int64_t head_dim,
            std::shared_ptr<const RopeTurns> turns)
      : RowsEntry<T>(team), x_(x), head_dim_(head_dim), turns_(std::move(turns)) {}
  void run(bool keeps) override;
  void backward() override;
  void use(MemoryUse<T>& use) const override { use.change(x_); }

 private:
  // Turns the pairs of a row; direction -1: back.
  void turn(T* x, int64_t row, double direction) const;

  Adjoined<T> x_;
  int64_t head_dim_;
  std::shared_ptr<const RopeTurns> turns_;
};

// out = (x - mean) / deviation · weight + bias; the mean of rms norms is 0.
template <class T>
class NormEntry final : public RowsEntry<T> {
 public:
  NormEntry(TrainTeam<T>& team, Adjoined<T> out, Adjoined<T> x, Adjoined<T> weight,
            Adjoined<T> bias, Ops::NormParams params)
      : RowsEntry<T>(team), out_(out), x_(x), weight_(weight), bias_(bias), params_(params) {}
  void run(bool keeps) override;
  void backward() override;
  void forget() override;
  void use(MemoryUse<T>& use) const override;

 private:
  // What a row is moved and divided by.
  struct Moments {
    double mean = 0;
    double inverse = 1;  // of the deviation
  };
  // A sum over the row.
  Moments moments_of(const T* x) const;
  // Where the weights of row i begin.
  int64_t first_weight(int64_t i) const { return i % (weight_.n_cols / x_.n_cols) * x_.n_cols; }
  // Adds to the gradients of weight and bias, where these are trained.
  void add_weight_gradients();

  Adjoined<T> out_, x_, weight_, bias_;
  Ops::NormParams params_;
  KeptNumbers<T> kept_x_;
  std::vector<Moments> moments_;
};

// x[r] = max(0, x[r] - (m + deviations · d)), m and d the mean and the deviation of the row.
// Numbers that are cut have no adjoint of their own, and still move what is subtracted from the
// others.
template <class T>
class CutBelowEntry final : public RowsEntry<T> {
 public:
  CutBelowEntry(TrainTeam<T>& team, Adjoined<T> x, double deviations)
      : RowsEntry<T>(team), x_(x), deviations_(deviations) {}
  void run(bool keeps) override;
  void backward() override;
  void forget() override { kept_.drop(); }
  void use(MemoryUse<T>& use) const override { use.change(x_); }

 private:
  Adjoined<T> x_;
  double deviations_;
  KeptNumbers<T> kept_;
};

// x[r] · rms(like[r]) / rms(x[r]), where the mean square of x counts as `least` at least: below
// that the factor does not depend on x.
template <class T>
class MatchSizeEntry final : public RowsEntry<T> {
 public:
  MatchSizeEntry(TrainTeam<T>& team, Adjoined<T> x, Adjoined<T> like, double least)
      : RowsEntry<T>(team), x_(x), like_(like), least_(least) {}
  void run(bool keeps) override;
  void backward() override;
  void forget() override;
  void use(MemoryUse<T>& use) const override;

 private:
  Adjoined<T> x_, like_;
  double least_;
  KeptNumbers<T> kept_x_, kept_like_;
};

}  // namespace ruv
