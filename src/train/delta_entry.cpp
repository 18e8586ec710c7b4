#include "train/delta_entry.h"

#include <algorithm>
#include <cmath>

#include "base/elementary.h"
#include "train/pointwise.h"

namespace ruv {
namespace {

constexpr double kDeltaEps = 1e-6;  // added to squares of lengths

double inverse_length(const std::vector<double>& x) {
  double squares = kDeltaEps;
  for (const double v : x) squares += v * v;
  return 1 / std::sqrt(squares);
}

// With u = r · x and r the inverse length of x: dx = r · (du - u · (u · du)).
template <class T>
void unit_back(const T* x, const std::vector<double>& of_unit, T* to) {
  const std::vector<double> numbers(x, x + of_unit.size());
  const double r = inverse_length(numbers);
  double along = 0;
  for (size_t d = 0; d < numbers.size(); ++d) along += r * numbers[d] * of_unit[d];
  for (size_t d = 0; d < numbers.size(); ++d) {
    to[d] += static_cast<T>(r * (of_unit[d] - r * numbers[d] * along));
  }
}

}  // namespace

// Threads allocate nothing.
template <class T>
void DeltaEntry<T>::prepare(bool with_states) {
  int64_t longest = 0;
  for (const BatchSequence& s : batch_.sequences) longest = std::max(longest, s.n_rows);
  const auto dk = static_cast<size_t>(params_.key_dim);
  const auto dv = static_cast<size_t>(params_.value_dim);
  scratch_.resize(static_cast<size_t>(this->team_.pool.n_threads()));
  for (Scratch& s : scratch_) {
    for (auto* keys : {&s.query, &s.key, &s.keep, &s.of_query, &s.of_key}) keys->resize(dk);
    for (auto* values : {&s.written, &s.memory, &s.of_written}) values->resize(dv);
    s.of_state.resize(dk * dv);
    s.states.resize(dk * dv * (with_states ? static_cast<size_t>(longest) + 1 : 1));
  }
}

// Which head's queries and keys a head of values reads.
template <class T>
int64_t DeltaEntry<T>::key_head_of(int64_t head) const {
  return params_.tiled ? head % params_.n_key_heads
                       : head / (params_.n_value_heads / params_.n_key_heads);
}

// Heads of values that read one head of keys add to the same adjoints.
template <class T>
template <class F>
void DeltaEntry<T>::each_head(F&& f) {
  this->team_.pool.run_items(params_.n_key_heads, [&](int thread, int64_t key_head) {
    for (const BatchSequence& sequence : batch_.sequences) {
      for (int64_t head = 0; head < params_.n_value_heads; ++head) {
        if (key_head_of(head) == key_head) f(thread, sequence, head);
      }
    }
  });
}

// A head with one decay keeps the same share of all its keys.
template <class T>
void DeltaEntry<T>::read(int64_t row, int64_t head, const Inputs& in, Scratch& s) const {
  const int64_t dk = params_.key_dim;
  const T* const q = in.qkv + row * rows_.qkv.n_cols + key_head_of(head) * dk;
  const T* const k = q + params_.n_key_heads * dk;
  std::copy_n(q, dk, s.query.begin());
  std::copy_n(k, dk, s.key.begin());
  const double of_query = inverse_length(s.query) / std::sqrt(static_cast<double>(dk));
  const double of_key = inverse_length(s.key);
  for (double& x : s.query) x *= of_query;
  for (double& x : s.key) x *= of_key;
  const double beta = double{in.beta[row * rows_.beta.n_cols + head]};
  s.beta = double{params_.beta_scale} * sigmoid_of(beta);
  const int64_t n = n_decays();
  for (int64_t d = 0; d < dk; ++d) {
    const int64_t at = head * n + std::min(d, n - 1);
    const double z =
        double{in.decay[row * rows_.decay.n_cols + at]} + double{vectors_.bias.values[at]};
    s.keep[static_cast<size_t>(d)] =
        d > 0 && n == 1 ? s.keep[0]
                        : exact_exp(double{vectors_.rate.values[head]} * exact_softplus(z));
  }
}

// S = diag(keep) S; memory = Sᵀ key; written = beta (value - memory); S += key writtenᵀ.
template <class T>
void DeltaEntry<T>::step(int64_t row, int64_t head, const Inputs& in, T* state, Scratch& s) const {
  const int64_t dk = params_.key_dim;
  const int64_t dv = params_.value_dim;
  read(row, head, in, s);
  const T* const value = in.qkv + row * rows_.qkv.n_cols + 2 * params_.n_key_heads * dk + head * dv;
  std::ranges::fill(s.memory, 0);
  for (int64_t d = 0; d < dk; ++d) {
    for (int64_t j = 0; j < dv; ++j) {
      T& x = state[d * dv + j];
      x = static_cast<T>(double{x} * s.keep[static_cast<size_t>(d)]);
      s.memory[static_cast<size_t>(j)] += double{x} * s.key[static_cast<size_t>(d)];
    }
  }
  for (int64_t j = 0; j < dv; ++j) {
    const auto at = static_cast<size_t>(j);
    s.written[at] = s.beta * (double{value[j]} - s.memory[at]);
  }
  for (int64_t d = 0; d < dk; ++d) {
    for (int64_t j = 0; j < dv; ++j) {
      T& x = state[d * dv + j];
      x = static_cast<T>(double{x} +
                         s.key[static_cast<size_t>(d)] * s.written[static_cast<size_t>(j)]);
    }
  }
}

// A head's state stays with its thread while the rows of a sequence go by.
template <class T>
void DeltaEntry<T>::run(bool keeps) {
  if (keeps) {
    kept_qkv_.keep(rows_.qkv.values, rows_.qkv.size(), this->team_);
    kept_beta_.keep(rows_.beta.values, rows_.beta.size(), this->team_);
    kept_decay_.keep(rows_.decay.values, rows_.decay.size(), this->team_);
  }
  prepare(false);
  const Inputs in = {rows_.qkv.values, rows_.beta.values, rows_.decay.values};
  const int64_t dv = params_.value_dim;
  each_head([&](int thread, const BatchSequence& sequence, int64_t head) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    std::ranges::fill(s.states, T{0});
    for (int64_t i = 0; i < sequence.n_rows; ++i) {
      const int64_t row = sequence.row_begin + i;
      step(row, head, in, s.states.data(), s);
      T* const out = rows_.out.row(row) + head * dv;
      for (int64_t j = 0; j < dv; ++j) {
        double sum = 0;
        for (int64_t d = 0; d < params_.key_dim; ++d) {
          sum +=
              s.query[static_cast<size_t>(d)] * double{s.states[static_cast<size_t>(d * dv + j)]};
        }
        out[j] = static_cast<T>(sum);
      }
    }
  });
  scratch_ = {};
}

// States are those of the way forward to the bit: both are made by step().
template <class T>
void DeltaEntry<T>::head_back(const BatchSequence& sequence, int64_t head, Scratch& s) {
  const Inputs in = {kept_qkv_.get(), kept_beta_.get(), kept_decay_.get()};
  const int64_t n_state = params_.key_dim * params_.value_dim;
  std::fill_n(s.states.begin(), n_state, T{0});
  for (int64_t i = 0; i < sequence.n_rows; ++i) {
    T* const before = s.states.data() + i * n_state;
    std::copy_n(before, n_state, before + n_state);
    step(sequence.row_begin + i, head, in, before + n_state, s);
  }
  std::ranges::fill(s.of_state, 0);
  for (int64_t i = sequence.n_rows - 1; i >= 0; --i) {
    row_back(sequence.row_begin + i, head, s.states.data() + i * n_state, s);
  }
}

// `before` is the state that the row read, and after it comes the one that it gave. of_state: the
// adjoint of the latter, which becomes that of the former.
template <class T>
void DeltaEntry<T>::row_back(int64_t row, int64_t head, const T* before, Scratch& s) {
  const int64_t dk = params_.key_dim;
  const int64_t dv = params_.value_dim;
  const T* const after = before + dk * dv;
  read(row, head, {kept_qkv_.get(), kept_beta_.get(), kept_decay_.get()}, s);
  const int64_t first_value = 2 * params_.n_key_heads * dk + head * dv;
  const T* const value = kept_qkv_.get() + row * rows_.qkv.n_cols + first_value;
  const T* const g = rows_.out.adjoint(row) + head * dv;
  std::ranges::fill(s.memory, 0);
  std::ranges::fill(s.of_written, 0);
  for (int64_t d = 0; d < dk; ++d) {
    const auto at = static_cast<size_t>(d);
    s.of_query[at] = 0;
    for (int64_t j = 0; j < dv; ++j) {
      double& h = s.of_state[static_cast<size_t>(d * dv + j)];
      h += s.query[at] * double{g[j]};
      s.of_query[at] += double{g[j]} * double{after[d * dv + j]};
      s.memory[static_cast<size_t>(j)] += s.key[at] * s.keep[at] * double{before[d * dv + j]};
      s.of_written[static_cast<size_t>(j)] += h * s.key[at];
    }
  }
  double of_beta = 0;
  T* const of_value = rows_.qkv.adjoint(row) + first_value;
  for (int64_t j = 0; j < dv; ++j) {
    const auto at = static_cast<size_t>(j);
    const double difference = double{value[j]} - s.memory[at];
    s.written[at] = s.beta * difference;
    of_beta += s.of_written[at] * difference;
    of_value[j] += static_cast<T>(s.beta * s.of_written[at]);
  }
  const double b = double{kept_beta_.get()[row * rows_.beta.n_cols + head]};
  rows_.beta.adjoint(row)[head] +=
      static_cast<T>(of_beta * double{params_.beta_scale} * sigmoid_slope(b));
  std::vector<double>& of_keep = s.query;  // which is read no more
  for (int64_t d = 0; d < dk; ++d) {
    const auto at = static_cast<size_t>(d);
    s.of_key[at] = 0;
    of_keep[at] = 0;
    for (int64_t j = 0; j < dv; ++j) {
      double& h = s.of_state[static_cast<size_t>(d * dv + j)];
      const double of_memory = -s.beta * s.of_written[static_cast<size_t>(j)];
      const double state = double{before[d * dv + j]};
      s.of_key[at] += h * s.written[static_cast<size_t>(j)] + of_memory * s.keep[at] * state;
      h += s.key[at] * of_memory;
      of_keep[at] += h * state;
      h *= s.keep[at];
    }
    of_keep[at] *= s.keep[at];
  }
  vectors_back(row, head, s);
  decays_back(row, head, of_keep);
}

// What lengths of queries and keys divide.
template <class T>
void DeltaEntry<T>::vectors_back(int64_t row, int64_t head, Scratch& s) {
  const int64_t dk = params_.key_dim;
  const int64_t q = key_head_of(head) * dk;
  const int64_t k = q + params_.n_key_heads * dk;
  for (double& x : s.of_query) x /= std::sqrt(static_cast<double>(dk));
  const T* const numbers = kept_qkv_.get() + row * rows_.qkv.n_cols;
  unit_back(numbers + q, s.of_query, rows_.qkv.adjoint(row) + q);
  unit_back(numbers + k, s.of_key, rows_.qkv.adjoint(row) + k);
}

// of_keep: the adjoints of the exponents of what is kept, rate · softplus(decay + bias).
template <class T>
void DeltaEntry<T>::decays_back(int64_t row, int64_t head, const std::vector<double>& of_keep) {
  const int64_t n = n_decays();
  const double rate = double{vectors_.rate.values[head]};
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = head * n + i;
    double of_exponent = of_keep[static_cast<size_t>(i)];
    for (size_t d = 1; n == 1 && d < of_keep.size(); ++d) of_exponent += of_keep[d];
    const double z =
        double{kept_decay_.get()[row * rows_.decay.n_cols + at]} + double{vectors_.bias.values[at]};
    const double of_sum = of_exponent * rate * sigmoid_of(z);
    rows_.decay.adjoint(row)[at] += static_cast<T>(of_sum);
    if (vectors_.bias.adjoints != nullptr) vectors_.bias.adjoints[at] += static_cast<T>(of_sum);
    if (vectors_.rate.adjoints != nullptr) {
      vectors_.rate.adjoints[head] += static_cast<T>(of_exponent * exact_softplus(z));
    }
  }
}

template <class T>
void DeltaEntry<T>::backward() {
  prepare(true);
  each_head([&](int thread, const BatchSequence& sequence, int64_t head) {
    head_back(sequence, head, scratch_[static_cast<size_t>(thread)]);
  });
  std::fill_n(rows_.out.adjoints, rows_.out.size(), T{0});
  scratch_ = {};
}

template <class T>
void DeltaEntry<T>::forget() {
  for (KeptNumbers<T>* kept : {&kept_qkv_, &kept_beta_, &kept_decay_}) kept->drop();
}

template <class T>
void DeltaEntry<T>::use(MemoryUse<T>& use) const {
  use.read(rows_.qkv);
  use.read(rows_.beta);
  use.read(rows_.decay);
  use.write(rows_.out);
}

template class DeltaEntry<float>;
template class DeltaEntry<double>;

}  // namespace ruv
