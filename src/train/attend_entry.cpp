// Scores are computed in tiles of some rows and all keys that these see, twice: their softmax is
// not kept for the walk back.
#include "train/attend_entry.h"

#include <algorithm>
#include <cmath>

#include "base/elementary.h"
#include "device/visible_keys.h"
#include "tensor/half.h"
#include "train/softmax.h"

namespace ruv {
namespace {

constexpr int64_t kTileRows = 64;

// What ALiBi adds.
double alibi_of(const Alibi& alibi, int64_t head, int64_t row, int64_t key) {
  const float slope = alibi.slopes[static_cast<size_t>(head)];
  if (!alibi.in_bf16) return -double{slope} * static_cast<double>(std::abs(row - key));
  const auto bias_of = [slope](int64_t at) {
    return double{f32_from_bf16(bf16_from_f32(slope * static_cast<float>(at)))};
  };
  return double{alibi.scale} * (bias_of(key) - bias_of(row));
}

}  // namespace

// Vectors of the model are not counted: no entry writes them.
template <class T>
void AttendEntry<T>::use(MemoryUse<T>& use) const {
  use.read(rows_.q);
  use.read(rows_.kv.k);
  use.read(rows_.kv.v);
  use.read(numbers_.of_query);
  use.read(numbers_.of_key);
  use.write(rows_.out);
}

template <class T>
void AttendEntry<T>::prepare() {
  int64_t longest = 0;
  for (const BatchSequence& s : batch_.sequences) longest = std::max(longest, s.n_rows);
  this->team_.products.reserve(std::max({longest, params_.key_dim, params_.value_dim, kTileRows}));
  scratch_.resize(static_cast<size_t>(this->team_.pool.n_threads()));
  const int64_t n = kTileRows * longest;
  for (Scratch& s : scratch_) {
    s.block = this->team_.kept.take(3 * n + room_for_exponentials(longest));
    s.shares = s.block.numbers.get();
    s.slopes = s.shares + n;
    s.turned = s.slopes + n;
    s.row = s.turned + n;
    s.sink_shares.resize(kTileRows);
  }
}

template <class T>
void AttendEntry<T>::tidy() {
  for (Scratch& s : scratch_) this->team_.kept.give(std::move(s.block));
  scratch_.clear();
}

// Rows of a tile see ranges of keys whose ends ascend: the first row's begins first.
template <class T>
template <class F>
void AttendEntry<T>::each_tile(const BatchSequence& sequence, int64_t head, F&& f) {
  for (int64_t row = 0; row < sequence.n_rows; row += kTileRows) {
    const Range rows = {row, std::min(sequence.n_rows, row + kTileRows)};
    const Range keys = {visible_keys(batch_, sequence, rows.begin, params_).begin,
                        visible_keys(batch_, sequence, rows.end - 1, params_).end};
    f(Tile{&sequence, head, rows, keys});
  }
}

template <class T>
Factor<T> AttendEntry<T>::head_rows(const Adjoined<T>& x, const T* numbers, const Tile& tile,
                                    int64_t dim) const {
  const int64_t row = tile.sequence->row_begin + tile.rows.begin;
  return {numbers + row * x.n_cols + tile.head * dim, tile.n_rows(), dim, x.n_cols, 1};
}

template <class T>
T* AttendEntry<T>::of_keys(const Adjoined<T>& x, T* numbers, const Tile& tile, int64_t dim) const {
  const int64_t kv_head = tile.head / (params_.n_heads / params_.n_kv_heads);
  return numbers + (tile.sequence->row_begin + tile.keys.begin) * x.n_cols + kv_head * dim;
}

template <class T>
Factor<T> AttendEntry<T>::key_rows(const Adjoined<T>& x, const Tile& tile, int64_t dim) const {
  return {of_keys(x, x.values, tile, dim), tile.n_keys(), dim, x.n_cols, 1};
}

template <class T>
int64_t AttendEntry<T>::column_of(const Tile& tile, int64_t row, int64_t key) const {
  const std::span<const int32_t> columns = params_.distances.columns;
  const int64_t reach = std::ssize(columns) / 2;
  const int64_t distance = std::clamp(row - key, -reach, reach);
  return tile.head * params_.distances.n_columns + columns[static_cast<size_t>(distance + reach)];
}

template <class T>
double AttendEntry<T>::added(const Tile& tile, int64_t row, int64_t key) const {
  double sum = params_.alibi.slopes.empty() ? 0 : alibi_of(params_.alibi, tile.head, row, key);
  if (params_.distances.columns.empty()) return sum;
  const int64_t at = column_of(tile, row, key);
  const int64_t first = tile.sequence->row_begin;
  const double scale = double{params_.distances.scale};
  if (!numbers_.table.empty()) sum += double{numbers_.table.values[at]};
  if (!numbers_.of_query.empty()) sum += scale * double{numbers_.of_query.row(first + row)[at]};
  if (!numbers_.of_key.empty()) sum += scale * double{numbers_.of_key.row(first + key)[at]};
  return sum;
}

// Scores are q · k · scale, capped; what is added comes after the cap. Most models have neither.
template <class T>
void AttendEntry<T>::score(int thread, const Tile& tile, const T* q, Scratch& s, bool slopes) {
  const int64_t n_keys = tile.n_keys();
  this->team_.products.multiply_on(thread, {s.shares, n_keys, false},
                                   head_rows(rows_.q, q, tile, params_.key_dim),
                                   key_rows(rows_.kv.k, tile, params_.key_dim));
  const bool adds = !params_.alibi.slopes.empty() || !params_.distances.columns.empty();
  const auto scale = static_cast<T>(params_.scale);
  for (int64_t r = 0; r < tile.n_rows(); ++r) {
    T* const scores = s.shares + r * n_keys;
    if (adds || params_.softcap > 0) {
      bend_scores(tile, r, scores, s.slopes + r * n_keys);
    } else {
      for (int64_t i = 0; i < n_keys; ++i) scores[i] *= scale;
      if (slopes) std::fill_n(s.slopes + r * n_keys, n_keys, scale);
    }
    soften(tile, r, scores, s);
  }
}

template <class T>
void AttendEntry<T>::bend_scores(const Tile& tile, int64_t row, T* scores, T* slopes) const {
  const double cap = double{params_.softcap};
  for (int64_t i = 0; i < tile.n_keys(); ++i) {
    double x = double{scores[i]} * double{params_.scale};
    double rise = double{params_.scale};
    if (cap > 0) {
      const double t = exact_tanh(x / cap);
      x = cap * t;
      rise *= 1 - t * t;
    }
    x += added(tile, tile.rows.begin + row, tile.keys.begin + i);
    scores[i] = static_cast<T>(x);
    slopes[i] = static_cast<T>(rise);
  }
}

// Softmax over the keys that the row sees; the others get 0.
template <class T>
void AttendEntry<T>::soften(const Tile& tile, int64_t row, T* scores, Scratch& s) const {
  const Range seen = visible_keys(batch_, *tile.sequence, tile.rows.begin + row, params_);
  const int64_t first = seen.begin - tile.keys.begin;
  const int64_t n = seen.end - seen.begin;
  const Kernels& kernels = this->team_.kernels;
  const bool sinks = !numbers_.sinks.empty();
  const double sink = sinks ? double{numbers_.sinks.values[tile.head]} : -INFINITY;
  std::copy_n(scores + first, n, s.row);
  const double most = std::max(sink, greatest_of(kernels, s.row, n));
  const double sink_part = sinks ? exact_exp(sink - most) : 0;
  const double sum = sink_part + take_exponentials(kernels, s.row, n, most);
  const auto share = static_cast<T>(1 / sum);
  for (int64_t i = 0; i < n; ++i) scores[first + i] = s.row[i] * share;
  std::fill(scores, scores + first, T{0});
  std::fill(scores + first + n, scores + tile.n_keys(), T{0});
  s.sink_shares[static_cast<size_t>(row)] = sink_part / sum;
}

// out = shares · values, as a product of the shares and the transpose of the values.
template <class T>
void AttendEntry<T>::attend(int thread, const Tile& tile, Scratch& s) {
  const int64_t dim = params_.value_dim;
  score(thread, tile, rows_.q.values, s, false);
  T* const out = rows_.out.row(tile.sequence->row_begin + tile.rows.begin) + tile.head * dim;
  this->team_.products.multiply_on(thread, {out, rows_.out.n_cols, false},
                                   whole<T>(s.shares, tile.n_rows(), tile.n_keys()),
                                   key_rows(rows_.kv.v, tile, dim).transposed());
}

// Heads only read what they have in common, so each is an item.
template <class T>
void AttendEntry<T>::run(bool keeps) {
  if (keeps) kept_q_.keep(rows_.q.values, rows_.q.size(), this->team_);
  prepare();
  const int64_t n_heads = params_.n_heads;
  this->team_.pool.run_items(std::ssize(batch_.sequences) * n_heads, [&](int thread, int64_t item) {
    each_tile(
        batch_.sequences[static_cast<size_t>(item / n_heads)], item % n_heads,
        [&](const Tile& tile) { attend(thread, tile, scratch_[static_cast<size_t>(thread)]); });
  });
  tidy();
}

// The kernels take the first factor by rows only.
template <class T>
void AttendEntry<T>::turn(const Tile& tile, const T* from, Scratch& s) const {
  const int64_t n_rows = tile.n_rows();
  const int64_t n_keys = tile.n_keys();
  for (int64_t i = 0; i < n_keys; ++i) {
    for (int64_t r = 0; r < n_rows; ++r) {
      s.turned[i * n_rows + r] = from[r * n_keys + i];
    }
  }
}

// Distances beyond the reach share the column at their end, so sums are taken in order of keys.
template <class T>
void AttendEntry<T>::add_to_numbers(const Tile& tile, int64_t row, const T* slopes) const {
  if (params_.distances.columns.empty()) return;
  const int64_t first = tile.sequence->row_begin;
  const auto scale = static_cast<T>(params_.distances.scale);
  for (int64_t i = 0; i < tile.n_keys(); ++i) {
    if (slopes[i] == 0) continue;
    const int64_t key = tile.keys.begin + i;
    const int64_t at = column_of(tile, row, key);
    if (numbers_.table.adjoints != nullptr) numbers_.table.adjoints[at] += slopes[i];
    if (!numbers_.of_query.empty()) numbers_.of_query.adjoint(first + row)[at] += scale * slopes[i];
    if (!numbers_.of_key.empty()) numbers_.of_key.adjoint(first + key)[at] += scale * slopes[i];
  }
}

// With p the shares and g the adjoint of out: dv = pᵀ g, dp = g vᵀ, and of scores p · (dp - Σ p
// dp).
template <class T>
void AttendEntry<T>::attend_back(int thread, const Tile& tile, Scratch& s) {
  MatrixProducts<T>& products = this->team_.products;
  const int64_t n_keys = tile.n_keys();
  const int64_t n_rows = tile.n_rows();
  const Factor<T> g = head_rows(rows_.out, rows_.out.adjoints, tile, params_.value_dim);
  score(thread, tile, kept_q_.get(), s, true);
  turn(tile, s.shares, s);
  products.multiply_on(
      thread,
      {of_keys(rows_.kv.v, rows_.kv.v.adjoints, tile, params_.value_dim), rows_.kv.v.n_cols, true},
      whole<T>(s.turned, n_keys, n_rows), g.transposed());
  products.multiply_on(thread, {s.turned, n_keys, false}, g,
                       key_rows(rows_.kv.v, tile, params_.value_dim));
  for (int64_t r = 0; r < n_rows; ++r) {
    T* const shares = s.shares + r * n_keys;
    T* const slopes = s.slopes + r * n_keys;
    const T* const of_share = s.turned + r * n_keys;
    const double sum =
        sum_in_lanes(n_keys, [&](int64_t i) { return double{shares[i]} * double{of_share[i]}; });
    const auto common = static_cast<T>(sum);
    for (int64_t i = 0; i < n_keys; ++i) shares[i] *= of_share[i] - common;
    add_to_numbers(tile, tile.rows.begin + r, shares);
    for (int64_t i = 0; i < n_keys; ++i) slopes[i] *= shares[i];
    if (numbers_.sinks.adjoints != nullptr) {
      numbers_.sinks.adjoints[tile.head] -=
          static_cast<T>(s.sink_shares[static_cast<size_t>(r)] * sum);
    }
  }
  const int64_t dim = params_.key_dim;
  const Factor<T> slopes = whole<T>(s.slopes, n_rows, n_keys);
  T* const q = rows_.q.adjoint(tile.sequence->row_begin + tile.rows.begin) + tile.head * dim;
  products.multiply_on(thread, {q, rows_.q.n_cols, true}, slopes,
                       key_rows(rows_.kv.k, tile, dim).transposed());
  turn(tile, s.slopes, s);
  products.multiply_on(
      thread, {of_keys(rows_.kv.k, rows_.kv.k.adjoints, tile, dim), rows_.kv.k.n_cols, true},
      whole<T>(s.turned, n_keys, n_rows),
      head_rows(rows_.q, kept_q_.get(), tile, dim).transposed());
}

// An item is all heads of one head of keys, so that no two add to one number; and all sequences
// where they have numbers in common.
template <class T>
void AttendEntry<T>::backward() {
  prepare();
  const int64_t group = params_.n_heads / params_.n_kv_heads;
  const auto n_sequences = std::ssize(batch_.sequences);
  const bool common = numbers_.sinks.adjoints != nullptr || numbers_.table.adjoints != nullptr;
  const int64_t n_parts = common ? 1 : n_sequences;
  this->team_.pool.run_items(n_parts * params_.n_kv_heads, [&](int thread, int64_t item) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    const int64_t kv_head = item % params_.n_kv_heads;
    const int64_t part = item / params_.n_kv_heads;
    const Range sequences = common ? Range{0, n_sequences} : Range{part, part + 1};
    for (int64_t i = sequences.begin; i < sequences.end; ++i) {
      for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
        each_tile(batch_.sequences[static_cast<size_t>(i)], head,
                  [&](const Tile& tile) { attend_back(thread, tile, s); });
      }
    }
  });
  clear_adjoints(this->team_, rows_.out);
  tidy();
}

template class StoreKvEntry<float>;
template class StoreKvEntry<double>;
template class AttendEntry<float>;
template class AttendEntry<double>;

}  // namespace ruv
