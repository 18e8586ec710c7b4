#include "train/convolve_entries.h"

#include <algorithm>
#include <cmath>

#include "base/elementary.h"

namespace ruv {

// Sums are taken again on the way back.
template <class T>
void ShortConvEntry<T>::run(bool keeps) {
  if (keeps) kept_.keep(bcx_.values, bcx_.size(), this->team_);
  const int64_t n = out_.n_cols;
  const int64_t n_taps = filter_.n_taps(n);
  each_columns(this->team_.pool, bcx_.n_rows, n, [&](Range columns) {
    for (const BatchSequence& sequence : batch_.sequences) {
      for (int64_t i = 0; i < sequence.n_rows; ++i) {
        T* const b = bcx_.row(sequence.row_begin + i);
        T* const out = out_.row(sequence.row_begin + i);
        for (int64_t c = columns.begin; c < columns.end; ++c) {
          b[c] *= b[2 * n + c];
          double sum = filter_.bias.empty() ? 0 : double{filter_.bias.values[c]};
          for (int64_t t = std::max<int64_t>(0, n_taps - 1 - i); t < n_taps; ++t) {
            sum += double{filter_.taps.values[t * n + c]} *
                   double{bcx_.row(sequence.row_begin + i - (n_taps - 1) + t)[c]};
          }
          out[c] = static_cast<T>(sum * double{b[n + c]});
        }
      }
    }
  });
}

// A row's adjoint of b · x is whole when the rows up to n_taps - 1 later have added to it: rows are
// walked from the last, and the products of the oldest tap come last.
template <class T>
void ShortConvEntry<T>::column_back(const BatchSequence& sequence, int64_t c) {
  const int64_t n = out_.n_cols;
  const int64_t n_taps = filter_.n_taps(n);
  const auto place = [&](int64_t i) { return (sequence.row_begin + i) * bcx_.n_cols + c; };
  const auto product = [&](int64_t i) {
    return double{kept_.get()[place(i)]} * double{kept_.get()[place(i) + 2 * n]};
  };
  for (int64_t i = sequence.n_rows - 1; i >= 0; --i) {
    const double g = double{std::exchange(out_.adjoint(sequence.row_begin + i)[c], T{0})};
    const double of_sum = g * double{kept_.get()[place(i) + n]};
    double sum = filter_.bias.empty() ? 0 : double{filter_.bias.values[c]};
    for (int64_t t = std::max<int64_t>(0, n_taps - 1 - i); t < n_taps; ++t) {
      const int64_t from = i - (n_taps - 1) + t;
      const double tap = double{filter_.taps.values[t * n + c]};
      sum += tap * product(from);
      bcx_.adjoints[place(from)] += static_cast<T>(of_sum * tap);
      if (filter_.taps.adjoints != nullptr) {
        filter_.taps.adjoints[t * n + c] += static_cast<T>(of_sum * product(from));
      }
    }
    bcx_.adjoints[place(i) + n] += static_cast<T>(g * sum);
    if (filter_.bias.adjoints != nullptr) filter_.bias.adjoints[c] += static_cast<T>(of_sum);
  }
  for (int64_t i = 0; i < sequence.n_rows; ++i) {
    T& of_b = bcx_.adjoints[place(i)];
    const T of_product = of_b;
    bcx_.adjoints[place(i) + 2 * n] += of_product * kept_.get()[place(i)];
    of_b = of_product * kept_.get()[place(i) + 2 * n];
  }
}

// Columns have their own taps, so that no two threads add to one number.
template <class T>
void ShortConvEntry<T>::backward() {
  each_columns(this->team_.pool, bcx_.n_rows, out_.n_cols, [&](Range columns) {
    for (const BatchSequence& sequence : batch_.sequences) {
      for (int64_t c = columns.begin; c < columns.end; ++c) column_back(sequence, c);
    }
  });
}

template <class T>
void ShortConvEntry<T>::use(MemoryUse<T>& use) const {
  use.change(bcx_);
  use.write(out_);
}

// Taps that reach before the sequence have nothing to multiply.
template <class T>
double ConvolveEntry<T>::sum_of(const BatchSequence& sequence, int64_t i, int64_t c,
                                const T* x) const {
  const int64_t n_taps = filter_.n_taps(x_.n_cols);
  double sum = filter_.bias.empty() ? 0 : double{filter_.bias.values[c]};
  for (int64_t t = std::max<int64_t>(0, n_taps - 1 - i); t < n_taps; ++t) {
    const int64_t from = sequence.row_begin + i - (n_taps - 1) + t;
    sum += double{filter_.taps.values[t * x_.n_cols + c]} * double{x[from * x_.n_cols + c]};
  }
  return sum;
}

// From the last row on, which no other reads.
template <class T>
void ConvolveEntry<T>::run(bool keeps) {
  if (keeps) kept_.keep(x_.values, x_.size(), this->team_);
  each_columns(this->team_.pool, x_.n_rows, x_.n_cols, [&](Range columns) {
    for (const BatchSequence& sequence : batch_.sequences) {
      for (int64_t i = sequence.n_rows - 1; i >= 0; --i) {
        for (int64_t c = columns.begin; c < columns.end; ++c) {
          const double sum = sum_of(sequence, i, c, x_.values);
          x_.row(sequence.row_begin + i)[c] =
              static_cast<T>(act_ ? ActPoint{*act_}.value(sum) : sum);
        }
      }
    }
  });
}

// From the first row on: a row's adjoint is read before later rows add to it what they read of it,
// so that it first holds that of its result and then that of the number before.
template <class T>
void ConvolveEntry<T>::column_back(const BatchSequence& sequence, int64_t c) {
  const int64_t n = x_.n_cols;
  const int64_t n_taps = filter_.n_taps(n);
  for (int64_t i = 0; i < sequence.n_rows; ++i) {
    const int64_t row = sequence.row_begin + i;
    double g = double{std::exchange(x_.adjoint(row)[c], T{0})};
    if (act_) g *= ActPoint{*act_}.slope(sum_of(sequence, i, c, kept_.get()));
    if (filter_.bias.adjoints != nullptr) filter_.bias.adjoints[c] += static_cast<T>(g);
    for (int64_t t = std::max<int64_t>(0, n_taps - 1 - i); t < n_taps; ++t) {
      const int64_t from = row - (n_taps - 1) + t;
      const int64_t tap = t * n + c;
      x_.adjoint(from)[c] += static_cast<T>(g * double{filter_.taps.values[tap]});
      if (filter_.taps.adjoints != nullptr) {
        filter_.taps.adjoints[tap] += static_cast<T>(g * double{kept_.get()[from * n + c]});
      }
    }
  }
}

// As above, all sequences of a column by one thread.
template <class T>
void ConvolveEntry<T>::backward() {
  each_columns(this->team_.pool, x_.n_rows, x_.n_cols, [&](Range columns) {
    for (const BatchSequence& sequence : batch_.sequences) {
      for (int64_t c = columns.begin; c < columns.end; ++c) column_back(sequence, c);
    }
  });
}

// Rows of a sequence lie one after the other, so that they move together.
template <class T>
void TokenShiftEntry<T>::run(bool /*keeps*/) {
  for (const BatchSequence& sequence : batch_.sequences) {
    if (sequence.n_rows == 0) continue;
    T* const out = out_.row(sequence.row_begin);
    std::fill_n(out, out_.n_cols, T{0});
    std::copy_n(x_.row(sequence.row_begin), (sequence.n_rows - 1) * x_.n_cols, out + out_.n_cols);
  }
}

template <class T>
void TokenShiftEntry<T>::backward() {
  for (const BatchSequence& sequence : batch_.sequences) {
    for (int64_t i = 1; i < sequence.n_rows; ++i) {
      const T* const g = out_.adjoint(sequence.row_begin + i);
      T* const to = x_.adjoint(sequence.row_begin + i - 1);
      for (int64_t c = 0; c < x_.n_cols; ++c) to[c] += g[c];
    }
  }
  std::fill_n(out_.adjoints, out_.size(), T{0});
}

template <class T>
void TokenShiftEntry<T>::use(MemoryUse<T>& use) const {
  use.read(x_);
  use.write(out_);
}

// The same numbers on both ways.
template <class T>
typename RecurrenceEntry<T>::Gates RecurrenceEntry<T>::gates_at(int64_t place, int64_t c,
                                                                bool first, const T* input,
                                                                const T* decay) const {
  Gates gates{};
  gates.input = sigmoid_of(double{input[place]} + double{vectors_.input_bias.values[c]});
  gates.opened = sigmoid_of(double{decay[place]} + double{vectors_.decay_bias.values[c]});
  gates.decay = exact_exp(double{vectors_.rate.values[c]} * gates.opened);
  gates.share = first ? 1 : std::sqrt(1 - gates.decay * gates.decay);
  return gates;
}

// The states, which x becomes, are kept beside x.
template <class T>
void RecurrenceEntry<T>::run(bool keeps) {
  const Adjoined<T>& x = rows_.x;
  if (keeps) {
    kept_x_.keep(x.values, x.size(), this->team_);
    kept_input_.keep(rows_.input_gate.values, x.size(), this->team_);
    kept_decay_.keep(rows_.decay_gate.values, x.size(), this->team_);
  }
  each_columns(this->team_.pool, x.n_rows, x.n_cols, [&](Range columns) {
    for (const BatchSequence& sequence : batch_.sequences) {
      for (int64_t c = columns.begin; c < columns.end; ++c) {
        double state = 0;
        for (int64_t i = 0; i < sequence.n_rows; ++i) {
          const int64_t place = (sequence.row_begin + i) * x.n_cols + c;
          const Gates g =
              gates_at(place, c, i == 0, rows_.input_gate.values, rows_.decay_gate.values);
          state = g.decay * state + double{x.values[place]} * g.input * g.share;
          x.values[place] = static_cast<T>(state);
        }
      }
    }
  });
  if (keeps) kept_states_.keep(x.values, x.size(), this->team_);
}

// of_state runs from the last row to the first.
template <class T>
void RecurrenceEntry<T>::column_back(const BatchSequence& sequence, int64_t c) {
  const Adjoined<T>& x = rows_.x;
  double of_state = 0;
  for (int64_t i = sequence.n_rows - 1; i >= 0; --i) {
    const int64_t place = (sequence.row_begin + i) * x.n_cols + c;
    const Gates g = gates_at(place, c, i == 0, kept_input_.get(), kept_decay_.get());
    const double number = double{kept_x_.get()[place]};
    const double before = i == 0 ? 0 : double{kept_states_.get()[place - x.n_cols]};
    of_state += double{x.adjoints[place]};
    const double of_input = of_state * g.share * number * g.input * (1 - g.input);
    double of_decay = of_state * before;
    if (i > 0) of_decay -= of_state * g.input * number * g.decay / g.share;
    const double rate = double{vectors_.rate.values[c]};
    const double of_exponent = of_decay * g.decay;
    const double of_opened = of_exponent * rate * g.opened * (1 - g.opened);
    x.adjoints[place] = static_cast<T>(of_state * g.share * g.input);
    rows_.input_gate.adjoints[place] += static_cast<T>(of_input);
    rows_.decay_gate.adjoints[place] += static_cast<T>(of_opened);
    const auto add = [c](const Adjoined<T>& vector, double d) {
      if (vector.adjoints != nullptr) vector.adjoints[c] += static_cast<T>(d);
    };
    add(vectors_.input_bias, of_input);
    add(vectors_.decay_bias, of_opened);
    add(vectors_.rate, of_exponent * g.opened);
    of_state *= g.decay;
  }
}

template <class T>
void RecurrenceEntry<T>::backward() {
  each_columns(this->team_.pool, rows_.x.n_rows, rows_.x.n_cols, [&](Range columns) {
    for (const BatchSequence& sequence : batch_.sequences) {
      for (int64_t c = columns.begin; c < columns.end; ++c) column_back(sequence, c);
    }
  });
}

template <class T>
void RecurrenceEntry<T>::forget() {
  for (KeptNumbers<T>* kept : {&kept_x_, &kept_input_, &kept_decay_, &kept_states_}) kept->drop();
}

template <class T>
void RecurrenceEntry<T>::use(MemoryUse<T>& use) const {
  use.change(rows_.x);
  use.read(rows_.input_gate);
  use.read(rows_.decay_gate);
}

template class ShortConvEntry<float>;
template class ShortConvEntry<double>;
template class ConvolveEntry<float>;
template class ConvolveEntry<double>;
template class TokenShiftEntry<float>;
template class TokenShiftEntry<double>;
template class RecurrenceEntry<float>;
template class RecurrenceEntry<double>;

}  // namespace ruv
