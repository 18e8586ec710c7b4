#include "train/products.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ruv {
namespace {

// Rows of a part of a product. More pack the other factor's rows less often, fewer keep sums that
// are added in the second-level cache and give more threads a part.
constexpr int64_t kMostRows = 2048;
constexpr int64_t kMostRowsAdded = 512;
constexpr int64_t kLeastRows = 192;  // a multiple of the rows of a kernel's tile
constexpr int64_t kPartsOfThread = 4;
constexpr int64_t kDecodedNumbers = int64_t{1} << 21;  // at a time
constexpr bool is_float(float) { return true; }
constexpr bool is_float(double) { return false; }

// A block that is turned at once: a line of memory wide, and few rows, since rows of a copy lie a
// power of two apart and many of them would meet in one set of a cache.
constexpr int64_t kTurnedRows = 8;
constexpr int64_t kTurnedCols = 16;
constexpr int64_t kStretch = 1024;  // columns that are turned as an item

// n blocks of `size` cover it.
int64_t blocks_of(int64_t n, int64_t size) { return (n + size - 1) / size; }

using Four = float __attribute__((vector_size(16)));

// to[i][j] = from[j][i] for i, j below 4.
void turn_four(const float* from, int64_t from_step, float* to, int64_t to_step) {
  Four row[4];
  for (int64_t j = 0; j < 4; ++j) std::memcpy(&row[j], from + j * from_step, sizeof(Four));
  const Four low01 = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
  const Four low23 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
  const Four high01 = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
  const Four high23 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
  const Four turned[4] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                          __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                          __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                          __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (int64_t i = 0; i < 4; ++i) std::memcpy(to + i * to_step, &turned[i], sizeof(Four));
}

// Rows [row, row + kTurnedRows) and columns [col, col + kTurnedCols) of a factor, as far as it has
// them, by rows `a.n_cols` apart.
template <class T>
void turn_block(const Factor<T>& a, int64_t row, int64_t col, T* to) {
  const int64_t n_rows = std::min(kTurnedRows, a.n_rows - row);
  const int64_t n_cols = std::min(kTurnedCols, a.n_cols - col);
  const T* const from = a.at + row * a.row_step + col * a.col_step;
  if constexpr (is_float(T{})) {
    if (n_rows == kTurnedRows && n_cols == kTurnedCols && a.row_step == 1) {
      for (int64_t i = 0; i < kTurnedRows; i += 4) {
        for (int64_t j = 0; j < kTurnedCols; j += 4) {
          turn_four(from + i + j * a.col_step, a.col_step, to + i * a.n_cols + j, a.n_cols);
        }
      }
      return;
    }
  }
  for (int64_t i = 0; i < n_rows; ++i) {
    for (int64_t j = 0; j < n_cols; ++j) {
      to[i * a.n_cols + j] = from[i * a.row_step + j * a.col_step];
    }
  }
}

}  // namespace

template <class T>
MatrixProducts<T>::MatrixProducts(WorkerPool& pool, const Kernels& kernels)
    : pool_(&pool),
      kernel_(find_gemm(kernels, DType::f32)),
      group_(is_float(T{}) ? kernel_->mr : 16),
      scratch_(static_cast<size_t>(pool.n_threads())) {}

// Vectors only grow, so that steps of one size allocate nothing after the first.
template <class T>
void MatrixProducts<T>::reserve(int64_t k) {
  for (Scratch& s : scratch_) {
    if (!is_float(T{})) {
      s.column.resize(std::max(s.column.size(), static_cast<size_t>(k)));
      continue;
    }
    s.out.resize(static_cast<size_t>(kMostRowsAdded * group_));
    s.packed.resize(std::max(s.packed.size(), static_cast<size_t>(kernel_->group_bytes(k) + 64)));
  }
}

// The kernels read rows of `a` whose numbers follow each other.
template <class T>
Factor<T> MatrixProducts<T>::by_rows(Factor<T> a) {
  if (a.col_step == 1) return a;
  copy_.resize(std::max(copy_.size(), static_cast<size_t>(a.n_rows * a.n_cols)));
  const int64_t n_down = blocks_of(a.n_rows, kTurnedRows);
  const int64_t n_across = blocks_of(a.n_cols, kStretch);
  pool_->run_items(n_down * n_across, [&](int, int64_t item) {
    const int64_t row = item % n_down * kTurnedRows;
    const int64_t begin = item / n_down * kStretch;
    const int64_t end = std::min(a.n_cols, begin + kStretch);
    for (int64_t col = begin; col < end; col += kTurnedCols) {
      turn_block(a, row, col, copy_.data() + row * a.n_cols + col);
    }
  });
  return whole<T>(copy_.data(), a.n_rows, a.n_cols);
}

// A part is one group. Its number of rows has no effect on the numbers.
template <class T>
void MatrixProducts<T>::multiply(ProductOut<T> out, Factor<T> a, Factor<T> b) {
  if (a.n_rows == 0 || b.n_rows == 0) return;
  reserve(a.n_cols);
  const Factor<T> rows = by_rows(a);
  const int64_t n_groups = blocks_of(b.n_rows, group_);
  const int64_t wanted = blocks_of(kPartsOfThread * pool_->n_threads(), n_groups);
  const int64_t even = blocks_of(blocks_of(a.n_rows, wanted), kLeastRows) * kLeastRows;
  const int64_t height = std::min(even, out.adds ? kMostRowsAdded : kMostRows);
  pool_->run_items(n_groups * blocks_of(a.n_rows, height), [&](int thread, int64_t item) {
    const int64_t row = item / n_groups * height;
    const int64_t group = item % n_groups;
    multiply_part(thread, out, rows, b,
                  {{row, std::min(a.n_rows, row + height)}, {group, group + 1}});
  });
}

template <class T>
void MatrixProducts<T>::multiply_on(int thread, ProductOut<T> out, Factor<T> a, Factor<T> b) {
  const int64_t n_groups = blocks_of(b.n_rows, group_);
  for (int64_t row = 0; row < a.n_rows; row += kMostRowsAdded) {
    multiply_part(thread, out, a, b,
                  {{row, std::min(a.n_rows, row + kMostRowsAdded)}, {0, n_groups}});
  }
}

// Rows first, first + 1, … of b as a group of the kernel. Where they lie by columns, a step of the
// group is numbers that follow each other.
template <>
void MatrixProducts<float>::pack_group(const Factor<float>& b, int64_t first, std::byte* to) const {
  const int64_t n = std::min(group_, b.n_rows - first);
  const float* const from = b.at + first * b.row_step;
  if (b.row_step == 1) {
    auto* const steps = reinterpret_cast<float*>(to);
    for (int64_t p = 0; p < b.n_cols; ++p) {
      float* const step = steps + p * group_;
      std::fill(std::copy_n(from + p * b.col_step, n, step), step + group_, 0.0F);
    }
    return;
  }
  const std::byte* rows[64] = {};
  for (int64_t i = 0; i < n; ++i) {
    rows[i] = reinterpret_cast<const std::byte*>(from + i * b.row_step);
  }
  kernel_->pack(to, rows, b.n_cols);
}

// Sums of parts that are added are computed apart first.
template <>
void MatrixProducts<float>::multiply_part(int thread, ProductOut<float> out, const Factor<float>& a,
                                          const Factor<float>& b, const Part& part) {
  Scratch& s = scratch_[static_cast<size_t>(thread)];
  auto* const packed =
      reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(s.packed.data()) + 63) / 64 * 64);
  for (int64_t group = part.groups.begin; group < part.groups.end; ++group) {
    const int64_t first = group * group_;
    const int64_t n = std::min(group_, b.n_rows - first);
    pack_group(b, first, packed);
    const int64_t n_rows = part.rows.end - part.rows.begin;
    float* const to = out.at + part.rows.begin * out.step + first;
    kernel_->run({.weights = packed,
                  .act = reinterpret_cast<const std::byte*>(a.at + part.rows.begin * a.row_step),
                  .out = out.adds ? s.out.data() : to,
                  .k = a.n_cols,
                  .n_groups = 1,
                  .n_cols = n,
                  .n_rows = n_rows,
                  .act_stride = a.row_step * int64_t{sizeof(float)},
                  .out_stride = out.adds ? group_ : out.step});
    if (!out.adds) continue;
    for (int64_t r = 0; r < n_rows; ++r) {
      const float* const from = s.out.data() + r * group_;
      for (int64_t i = 0; i < n; ++i) to[r * out.step + i] += from[i];
    }
  }
}

// Plain loops: double is for checking.
template <>
void MatrixProducts<double>::multiply_part(int thread, ProductOut<double> out,
                                           const Factor<double>& a, const Factor<double>& b,
                                           const Part& part) {
  Scratch& s = scratch_[static_cast<size_t>(thread)];
  const int64_t k = a.n_cols;
  for (int64_t j = part.groups.begin * group_; j < std::min(b.n_rows, part.groups.end * group_);
       ++j) {
    const double* column = b.at + j * b.row_step;
    if (b.col_step != 1) {
      for (int64_t p = 0; p < k; ++p) s.column[static_cast<size_t>(p)] = column[p * b.col_step];
      column = s.column.data();
    }
    for (int64_t i = part.rows.begin; i < part.rows.end; ++i) {
      const double* const row = a.at + i * a.row_step;
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += row[p * a.col_step] * column[p];
      double& to = out.at[i * out.step + j];
      to = out.adds ? to + sum : sum;
    }
  }
}

// Calls f(first row, rows) for blocks of the matrix's rows.
template <class T>
template <class F>
void MatrixProducts<T>::each_block(const TrainMatrix<T>& w, F&& f) {
  const int64_t n_in = w.n_in();
  if (w.has_values()) return f(int64_t{0}, whole<T>(w.values(), w.n_out(), n_in));
  const int64_t n =
      std::clamp<int64_t>(kDecodedNumbers / n_in, group_, std::max(group_, w.n_out()));
  decoded_.resize(std::max(decoded_.size(), static_cast<size_t>(n * n_in)));
  for (int64_t first = 0; first < w.n_out(); first += n) {
    const int64_t n_rows = std::min(n, w.n_out() - first);
    pool_->run_items(n_rows,
                     [&](int, int64_t i) { w.read_row(first + i, decoded_.data() + i * n_in); });
    f(first, whole<T>(decoded_.data(), n_rows, n_in));
  }
}

// Blocks of rows give columns of the result.
template <class T>
void MatrixProducts<T>::forward(T* out, int64_t step, Factor<T> x, const TrainMatrix<T>& w) {
  each_block(w, [&](int64_t first, Factor<T> rows) {
    multiply({out + first, step, false}, x, rows);
  });
}

// Blocks of rows give terms of the sum, which are added in their order.
template <class T>
void MatrixProducts<T>::backward(T* dx, int64_t step, Factor<T> dy, const TrainMatrix<T>& w) {
  each_block(w, [&](int64_t first, Factor<T> rows) {
    const Factor<T> part = {dy.at + first * dy.col_step, dy.n_rows, rows.n_rows, dy.row_step,
                            dy.col_step};
    multiply({dx, step, true}, part, rows.transposed());
  });
}

template class MatrixProducts<float>;
template class MatrixProducts<double>;

}  // namespace ruv
