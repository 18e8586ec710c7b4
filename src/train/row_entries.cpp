#include "train/row_entries.h"

#include <algorithm>
#include <cmath>

#include "train/softmax.h"

namespace ruv {
namespace {

template <class T>
void add_to(T& sum, double x) {
  sum = static_cast<T>(double{sum} + x);
}

// g, which becomes 0.
template <class T>
double take(T& g) {
  return double{std::exchange(g, T{0})};
}

}  // namespace

template <class T>
void CopyEntry<T>::run(bool /*keeps*/) {
  std::copy_n(x_.values, x_.size(), out_.values);
}

// What was in `out` before is gone: it has no adjoint.
template <class T>
void CopyEntry<T>::backward() {
  this->rows(x_, [&](int64_t i) {
    T* const g = out_.adjoint(i);
    T* const to = x_.adjoint(i);
    for (int64_t c = 0; c < x_.n_cols; ++c) to[c] += std::exchange(g[c], T{0});
  });
}

template <class T>
void CopyEntry<T>::use(MemoryUse<T>& use) const {
  use.read(x_);
  use.write(out_);
}

template <class T>
void AddEntry<T>::run(bool /*keeps*/) {
  this->rows(x_, [&](int64_t i) {
    T* const x = x_.row(i);
    const T* const y = y_.row(i);
    for (int64_t c = 0; c < x_.n_cols; ++c) x[c] += y[c];
  });
}

// The sum's adjoint is that of x as well, which stays where it is.
template <class T>
void AddEntry<T>::backward() {
  this->rows(x_, [&](int64_t i) {
    const T* const g = x_.adjoint(i);
    T* const to = y_.adjoint(i);
    for (int64_t c = 0; c < x_.n_cols; ++c) to[c] += g[c];
  });
}

template <class T>
void AddEntry<T>::use(MemoryUse<T>& use) const {
  use.change(x_);
  use.read(y_);
}

template <class T>
void ScaleEntry<T>::run(bool /*keeps*/) {
  scale(false);
}

// Linear in x, so that the way back is the way forward.
template <class T>
void ScaleEntry<T>::scale(bool adjoints) {
  this->rows(x_, [&](int64_t i) {
    T* const x = adjoints ? x_.adjoint(i) : x_.row(i);
    const auto factor =
        static_cast<T>(factors_.size() == 1 ? factors_[0] : factors_[static_cast<size_t>(i)]);
    for (int64_t c = 0; c < x_.n_cols; ++c) x[c] *= factor;
  });
}

// Both are kept: each is the slope of the other.
template <class T>
void MultiplyEntry<T>::run(bool keeps) {
  if (keeps) {
    kept_x_.keep(x_.values, x_.size(), this->team_);
    kept_y_.keep(y_.values, y_.size(), this->team_);
  }
  this->rows(x_, [&](int64_t i) {
    T* const x = x_.row(i);
    for (int64_t c = 0; c < x_.n_cols; ++c) x[c] *= y_.values[at(i, c)];
  });
}

// A row of y that all rows share gets a sum over rows, column by column.
template <class T>
void MultiplyEntry<T>::backward() {
  if (y_.n_rows == 1 && x_.n_rows > 1) {
    each_columns(this->team_.pool, x_.n_rows, x_.n_cols, [&](Range columns) {
      for (int64_t i = 0; i < x_.n_rows; ++i) {
        const T* const x = kept_x_.get() + i * x_.n_cols;
        for (int64_t c = columns.begin; c < columns.end; ++c) {
          y_.adjoints[at(i, c)] += x_.adjoint(i)[c] * x[c];
        }
      }
    });
  } else {
    this->rows(x_, [&](int64_t i) {
      const T* const x = kept_x_.get() + i * x_.n_cols;
      for (int64_t c = 0; c < x_.n_cols; ++c) y_.adjoints[at(i, c)] += x_.adjoint(i)[c] * x[c];
    });
  }
  this->rows(x_, [&](int64_t i) {
    for (int64_t c = 0; c < x_.n_cols; ++c) x_.adjoint(i)[c] *= kept_y_.get()[at(i, c)];
  });
}

template <class T>
void MultiplyEntry<T>::forget() {
  kept_x_.drop();
  kept_y_.drop();
}

// x is both read and written; y is only read.
template <class T>
void MultiplyEntry<T>::use(MemoryUse<T>& use) const {
  use.change(x_);
  use.read(y_);
}

// All columns of the factors are kept, of which one is used: they are few.
template <class T>
void AddScaledEntry<T>::run(bool keeps) {
  if (keeps) {
    kept_y_.keep(y_.values, y_.size(), this->team_);
    kept_values_.keep(factors_.values.values, factors_.values.size(), this->team_);
  }
  this->rows(x_, [&](int64_t i) {
    const auto factor =
        static_cast<T>(double{factors_.values.row(i)[factors_.column]} + factors_.offset);
    T* const x = x_.row(i);
    const T* const y = y_.row(i);
    for (int64_t c = 0; c < x_.n_cols; ++c) x[c] += factor * y[c];
  });
}

// x keeps its adjoint.
template <class T>
void AddScaledEntry<T>::backward() {
  this->rows(x_, [&](int64_t i) {
    const T kept = kept_values_.get()[i * factors_.values.n_cols + factors_.column];
    const auto factor = static_cast<T>(double{kept} + factors_.offset);
    const T* const g = x_.adjoint(i);
    const T* const y = kept_y_.get() + i * x_.n_cols;
    T* const to = y_.adjoint(i);
    double sum = 0;
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      to[c] += factor * g[c];
      sum += double{g[c]} * double{y[c]};
    }
    add_to(factors_.values.adjoint(i)[factors_.column], sum);
  });
}

template <class T>
void AddScaledEntry<T>::forget() {
  kept_y_.drop();
  kept_values_.drop();
}

template <class T>
void AddScaledEntry<T>::use(MemoryUse<T>& use) const {
  use.change(x_);
  use.read(y_);
  use.read(factors_.values);
}

// The difference is kept in place of x and y.
template <class T>
void LerpEntry<T>::run(bool keeps) {
  if (keeps) {
    std::vector<T> difference(static_cast<size_t>(out_.size()));
    for (int64_t i = 0; i < out_.size(); ++i) {
      difference[static_cast<size_t>(i)] = y_.values[i] - x_.values[i];
    }
    kept_difference_.keep(difference.data(), out_.size(), this->team_);
    kept_share_.keep(share_.values, share_.size(), this->team_);
  }
  this->rows(out_, [&](int64_t i) {
    const T* const s = share_.row(share_.n_rows == 1 ? 0 : i);
    const T* const x = x_.row(i);
    const T* const y = y_.row(i);
    T* const out = out_.row(i);
    for (int64_t c = 0; c < out_.n_cols; ++c) out[c] = x[c] + (y[c] - x[c]) * s[c];
  });
}

// out may be x or y: its adjoint is taken before theirs are added to.
template <class T>
void LerpEntry<T>::backward() {
  const bool shared = share_.n_rows == 1;
  each_columns(this->team_.pool, out_.n_rows, out_.n_cols, [&](Range columns) {
    for (int64_t i = 0; i < out_.n_rows; ++i) {
      const int64_t row = i * out_.n_cols;
      T* const share_g = share_.adjoint(shared ? 0 : i);
      const T* const s = kept_share_.get() + (shared ? 0 : row);
      for (int64_t c = columns.begin; c < columns.end; ++c) {
        const T g = std::exchange(out_.adjoints[row + c], T{0});
        share_g[c] += g * kept_difference_.get()[row + c];
        x_.adjoints[row + c] += g * (T{1} - s[c]);
        y_.adjoints[row + c] += g * s[c];
      }
    }
  });
}

template <class T>
void LerpEntry<T>::forget() {
  kept_difference_.drop();
  kept_share_.drop();
}

template <class T>
void LerpEntry<T>::use(MemoryUse<T>& use) const {
  use.read(x_);
  use.read(y_);
  use.read(share_);
  use.write(out_);
}

// Rows are few, so that one thread copies them.
template <class T>
void GatherEntry<T>::run(bool /*keeps*/) {
  for (size_t i = 0; i < rows_.size(); ++i) {
    std::copy_n(x_.row(rows_[i]), x_.n_cols, out_.row(static_cast<int64_t>(i)));
  }
}

// In order, since rows may be the same.
template <class T>
void GatherEntry<T>::backward() {
  for (size_t i = 0; i < rows_.size(); ++i) {
    T* const g = out_.adjoint(static_cast<int64_t>(i));
    T* const to = x_.adjoint(rows_[i]);
    for (int64_t c = 0; c < x_.n_cols; ++c) to[c] += std::exchange(g[c], T{0});
  }
}

template <class T>
void GatherEntry<T>::use(MemoryUse<T>& use) const {
  use.read(x_);
  use.write(out_);
}

template <class T>
void JoinEntry<T>::run(bool /*keeps*/) {
  this->rows(out_, [&](int64_t i) {
    std::copy_n(b_.row(i), b_.n_cols, std::copy_n(a_.row(i), a_.n_cols, out_.row(i)));
  });
}

// The columns of a row are cut where they were joined.
template <class T>
void JoinEntry<T>::backward() {
  this->rows(out_, [&](int64_t i) {
    T* const g = out_.adjoint(i);
    for (int64_t c = 0; c < a_.n_cols; ++c) a_.adjoint(i)[c] += std::exchange(g[c], T{0});
    for (int64_t c = 0; c < b_.n_cols; ++c) {
      b_.adjoint(i)[c] += std::exchange(g[a_.n_cols + c], T{0});
    }
  });
}

template <class T>
void JoinEntry<T>::use(MemoryUse<T>& use) const {
  use.read(a_);
  use.read(b_);
  use.write(out_);
}

// The transpose of a turn is the turn back, with the same magnitude.
template <class T>
void RopeEntry<T>::turn(T* x, int64_t row, double direction) const {
  const int64_t n = turns_->n_pairs;
  const double* const cos = turns_->cos.data() + row * n;
  const double* const sin = turns_->sin.data() + row * n;
  for (int64_t head = 0; head < x_.n_cols; head += head_dim_) {
    T* const low = x + head;
    T* const high = low + n;
    for (int64_t i = 0; i < n; ++i) {
      const double a = double{low[i]};
      const double b = double{high[i]};
      low[i] = static_cast<T>(a * cos[i] - direction * b * sin[i]);
      high[i] = static_cast<T>(b * cos[i] + direction * a * sin[i]);
    }
  }
}

template <class T>
void RopeEntry<T>::run(bool /*keeps*/) {
  this->rows(x_, [&](int64_t i) { turn(x_.row(i), i, 1); });
}

template <class T>
void RopeEntry<T>::backward() {
  this->rows(x_, [&](int64_t i) { turn(x_.adjoint(i), i, -1); });
}

// Sums in float64, in the order of the numbers.
template <class T>
typename NormEntry<T>::Moments NormEntry<T>::moments_of(const T* x) const {
  const auto n = static_cast<double>(x_.n_cols);
  Moments m;
  if (params_.kind == Norm::layer) {
    m.mean = sum_in_lanes(x_.n_cols, [&](int64_t c) { return double{x[c]}; }) / n;
  }
  const double squares = sum_in_lanes(x_.n_cols, [&](int64_t c) {
    const double d = double{x[c]} - m.mean;
    return d * d;
  });
  m.inverse = 1 / std::sqrt(squares / n + double{params_.eps});
  return m;
}

// Moments are kept beside x: they cost a sum of all its numbers.
template <class T>
void NormEntry<T>::run(bool keeps) {
  if (keeps) {
    kept_x_.keep(x_.values, x_.size(), this->team_);
    moments_.resize(static_cast<size_t>(x_.n_rows));
  }
  this->rows(x_, [&](int64_t i) {
    const T* const x = x_.row(i);
    T* const out = out_.row(i);
    const Moments m = moments_of(x);
    if (keeps) moments_[static_cast<size_t>(i)] = m;
    const int64_t first = first_weight(i);
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      const double unit = (double{x[c]} - m.mean) * m.inverse;
      const double bias = bias_.empty() ? 0 : double{bias_.values[first + c]};
      out[c] = static_cast<T>(unit * double{weight_.values[first + c]} + bias);
    }
  });
}

// By columns, each in the order of the rows; weights by turns have rows of their own.
template <class T>
void NormEntry<T>::add_weight_gradients() {
  const bool has_bias = bias_.adjoints != nullptr;
  if (weight_.adjoints == nullptr && !has_bias) return;
  each_columns(this->team_.pool, x_.n_rows, x_.n_cols, [&](Range columns) {
    for (int64_t i = 0; i < x_.n_rows; ++i) {
      const Moments& m = moments_[static_cast<size_t>(i)];
      const T* const g = out_.adjoint(i);
      const T* const x = kept_x_.get() + i * x_.n_cols;
      const int64_t first = first_weight(i);
      for (int64_t c = columns.begin; c < columns.end; ++c) {
        const double unit = (double{x[c]} - m.mean) * m.inverse;
        if (weight_.adjoints != nullptr) add_to(weight_.adjoints[first + c], double{g[c]} * unit);
        if (has_bias) bias_.adjoints[first + c] += g[c];
      }
    }
  });
}

// With u the unit row and h = g · weight: dx = (h - mean(h) - u · mean(h · u)) / deviation, where
// the mean of h counts for layer norms only.
template <class T>
void NormEntry<T>::backward() {
  add_weight_gradients();
  const auto n = static_cast<double>(x_.n_cols);
  this->rows(x_, [&](int64_t i) {
    const Moments& m = moments_[static_cast<size_t>(i)];
    T* const g = out_.adjoint(i);
    const T* const x = kept_x_.get() + i * x_.n_cols;
    const T* const w = weight_.values + first_weight(i);
    const bool has_mean = params_.kind == Norm::layer;
    const auto of_units = [&](int64_t c) { return double{g[c]} * double{w[c]}; };
    const double mean = has_mean ? sum_in_lanes(x_.n_cols, of_units) / n : 0;
    const double along = sum_in_lanes(
        x_.n_cols, [&](int64_t c) { return of_units(c) * (double{x[c]} - m.mean) * m.inverse; });
    T* const to = x_.adjoint(i);
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      const double unit = (double{x[c]} - m.mean) * m.inverse;
      const double of_unit = take(g[c]) * double{w[c]};
      add_to(to[c], (of_unit - mean - unit * along / n) * m.inverse);
    }
  });
}

template <class T>
void NormEntry<T>::forget() {
  kept_x_.drop();
  moments_ = {};
}

template <class T>
void NormEntry<T>::use(MemoryUse<T>& use) const {
  use.read(x_);
  use.write(out_);
}

// What is subtracted is m + deviations · d; its slope by number i is 1/n + deviations · (x - m) /
// (n · d).
template <class T>
void CutBelowEntry<T>::run(bool keeps) {
  if (keeps) kept_.keep(x_.values, x_.size(), this->team_);
  const auto n = static_cast<double>(x_.n_cols);
  this->rows(x_, [&](int64_t i) {
    T* const x = x_.row(i);
    double mean = 0;
    double squares = 0;
    for (int64_t c = 0; c < x_.n_cols; ++c) mean += double{x[c]};
    mean /= n;
    for (int64_t c = 0; c < x_.n_cols; ++c)
      squares += (double{x[c]} - mean) * (double{x[c]} - mean);
    const double least = mean + std::sqrt(squares / n) * deviations_;
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      x[c] = static_cast<T>(std::max(0.0, double{x[c]} - least));
    }
  });
}

// Sums are taken once more; only x is kept.
template <class T>
void CutBelowEntry<T>::backward() {
  const auto n = static_cast<double>(x_.n_cols);
  this->rows(x_, [&](int64_t i) {
    const T* const x = kept_.get() + i * x_.n_cols;
    T* const g = x_.adjoint(i);
    double mean = 0;
    double squares = 0;
    for (int64_t c = 0; c < x_.n_cols; ++c) mean += double{x[c]};
    mean /= n;
    for (int64_t c = 0; c < x_.n_cols; ++c)
      squares += (double{x[c]} - mean) * (double{x[c]} - mean);
    const double deviation = std::sqrt(squares / n);
    const double least = mean + deviation * deviations_;
    double sum = 0;
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      if (double{x[c]} <= least) g[c] = 0;
      sum += double{g[c]};
    }
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      const double slope =
          deviation > 0 ? deviations_ * (double{x[c]} - mean) / (n * deviation) : 0;
      add_to(g[c], -sum * (1 / n + slope));
    }
  });
}

// In float64, as the CPU device does.
template <class T>
void MatchSizeEntry<T>::run(bool keeps) {
  if (keeps) {
    kept_x_.keep(x_.values, x_.size(), this->team_);
    kept_like_.keep(like_.values, like_.size(), this->team_);
  }
  const auto n = static_cast<double>(x_.n_cols);
  this->rows(x_, [&](int64_t i) {
    T* const x = x_.row(i);
    const T* const like = like_.row(i);
    double own = 0;
    double wanted = 0;
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      own += double{x[c]} * double{x[c]};
      wanted += double{like[c]} * double{like[c]};
    }
    const double factor = std::sqrt(wanted / n / std::max(own / n, least_));
    for (int64_t c = 0; c < x_.n_cols; ++c) x[c] = static_cast<T>(double{x[c]} * factor);
  });
}

// out = x · f, f = √(w / o): df/dlike = f · like / (n w), df/dx = -f · x / (n o) where o is not the
// least.
template <class T>
void MatchSizeEntry<T>::backward() {
  const auto n = static_cast<double>(x_.n_cols);
  this->rows(x_, [&](int64_t i) {
    const T* const x = kept_x_.get() + i * x_.n_cols;
    const T* const like = kept_like_.get() + i * x_.n_cols;
    T* const g = x_.adjoint(i);
    T* const like_g = like_.adjoint(i);
    double own = 0;
    double wanted = 0;
    double of_factor = 0;
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      own += double{x[c]} * double{x[c]};
      wanted += double{like[c]} * double{like[c]};
      of_factor += double{g[c]} * double{x[c]};
    }
    own /= n;
    wanted /= n;
    const double divided = std::max(own, least_);
    const double factor = std::sqrt(wanted / divided);
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      if (wanted > 0) add_to(like_g[c], of_factor * factor * double{like[c]} / (n * wanted));
      const double of_own = own > least_ ? of_factor * factor * double{x[c]} / (n * own) : 0;
      g[c] = static_cast<T>(double{g[c]} * factor - of_own);
    }
  });
}

template <class T>
void MatchSizeEntry<T>::forget() {
  kept_x_.drop();
  kept_like_.drop();
}

template <class T>
void MatchSizeEntry<T>::use(MemoryUse<T>& use) const {
  use.change(x_);
  use.read(like_);
}

#define RUV_INSTANTIATE(Entry) \
  template class Entry<float>; \
  template class Entry<double>;
RUV_INSTANTIATE(CopyEntry)
RUV_INSTANTIATE(AddEntry)
RUV_INSTANTIATE(ScaleEntry)
RUV_INSTANTIATE(MultiplyEntry)
RUV_INSTANTIATE(AddScaledEntry)
RUV_INSTANTIATE(LerpEntry)
RUV_INSTANTIATE(GatherEntry)
RUV_INSTANTIATE(JoinEntry)
RUV_INSTANTIATE(RopeEntry)
RUV_INSTANTIATE(NormEntry)
RUV_INSTANTIATE(CutBelowEntry)
RUV_INSTANTIATE(MatchSizeEntry)
#undef RUV_INSTANTIATE

}  // namespace ruv
