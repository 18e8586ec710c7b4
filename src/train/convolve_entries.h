// Entries that go along the rows of each sequence, column by column. Sequences begin with zero
// states. Threads share the columns.
#pragma once

#include "train/pointwise.h"
#include "train/row_entries.h"

namespace ruv {

// Taps by column, the one of the oldest row first, and what is added.
template <class T>
struct ConvFilter {
  Adjoined<T> taps, bias;  // an empty bias is none

  int64_t n_taps(int64_t n_cols) const { return taps.n_cols / n_cols; }
};

// b = b · x; out = c · (bias + Σ taps · b). Back as a convolution of b · x, whose adjoint is then
// split between b and x; that of c is g times the sum.
template <class T>
class ShortConvEntry final : public RowsEntry<T> {
 public:
  ShortConvEntry(TrainTeam<T>& team, const Batch& batch, Adjoined<T> out, Adjoined<T> bcx,
                 ConvFilter<T> filter)
      : RowsEntry<T>(team), batch_(batch), out_(out), bcx_(bcx), filter_(filter) {}
  void run(bool keeps) override;
  void backward() override;
  void forget() override { kept_.drop(); }
  void use(MemoryUse<T>& use) const override;

 private:
  // The way back of one column of one sequence.
  void column_back(const BatchSequence& sequence, int64_t c);

  const Batch& batch_;
  Adjoined<T> out_, bcx_;
  ConvFilter<T> filter_;
  KeptNumbers<T> kept_;
};

// x = act(bias + Σ taps · x), in place. Back, with g the adjoint of a sum: dx of each row that the
// sum read += g · tap, d of the tap += g · x, d of the bias += g.
template <class T>
class ConvolveEntry final : public RowsEntry<T> {
 public:
  ConvolveEntry(TrainTeam<T>& team, const Batch& batch, Adjoined<T> x, ConvFilter<T> filter,
                std::optional<Act> act)
      : RowsEntry<T>(team), batch_(batch), x_(x), filter_(filter), act_(act) {}
  void run(bool keeps) override;
  void backward() override;
  void forget() override { kept_.drop(); }
  void use(MemoryUse<T>& use) const override { use.change(x_); }

 private:
  // The sum of row i of a sequence whose numbers are those of `x`, before the activation.
  double sum_of(const BatchSequence& sequence, int64_t i, int64_t c, const T* x) const;
  void column_back(const BatchSequence& sequence, int64_t c);

  const Batch& batch_;
  Adjoined<T> x_;
  ConvFilter<T> filter_;
  std::optional<Act> act_;
  KeptNumbers<T> kept_;
};

// out[r] = x[r - 1], and zeros for the first row of a sequence. Back: dx[r - 1] += g[r].
template <class T>
class TokenShiftEntry final : public RowsEntry<T> {
 public:
  TokenShiftEntry(TrainTeam<T>& team, const Batch& batch, Adjoined<T> out, Adjoined<T> x)
      : RowsEntry<T>(team), batch_(batch), out_(out), x_(x) {}
  void run(bool keeps) override;
  void backward() override;
  void use(MemoryUse<T>& use) const override;

 private:
  const Batch& batch_;
  Adjoined<T> out_, x_;
};

// RG-LRU. Back, from a sequence's last row: with s the state and h its adjoint,
//   h += g;  dx = h · m · i;  d of i = h · m · x;  d of a = h · (s' - i · x · a / m);  h = h · a
// where s' is the state before, i and a the gates and m = √(1 - a²), 1 at the first row.
template <class T>
class RecurrenceEntry final : public RowsEntry<T> {
 public:
  struct Rows {
    Adjoined<T> x, input_gate, decay_gate;
  };
  struct Vectors {
    Adjoined<T> input_bias, decay_bias, rate;
  };
  RecurrenceEntry(TrainTeam<T>& team, const Batch& batch, Rows rows, Vectors vectors)
      : RowsEntry<T>(team), batch_(batch), rows_(rows), vectors_(vectors) {}
  void run(bool keeps) override;
  void backward() override;
  void forget() override;
  void use(MemoryUse<T>& use) const override;

 private:
  // The gates of a row and column, of numbers at this place.
  struct Gates {
    double input, opened, decay, share;
  };
  Gates gates_at(int64_t place, int64_t c, bool first, const T* input, const T* decay) const;
  void column_back(const BatchSequence& sequence, int64_t c);

  const Batch& batch_;
  Rows rows_;
  Vectors vectors_;
  KeptNumbers<T> kept_x_, kept_input_, kept_decay_, kept_states_;
};

}  // namespace ruv
