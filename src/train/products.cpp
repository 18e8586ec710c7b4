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
constexpr int64_t kNarrow = 16;  // rows of a factor that a group would leave mostly empty
constexpr int64_t kDecodedNumbers = int64_t{1} << 21;  // at a time
constexpr bool is_float(float) { return true; }
constexpr bool is_float(double) { return false; }

// A block that is turned at once: a line of memory wide, and few rows, since rows of a copy lie a
// power of two apart and many of them would meet in one set of a cache.
constexpr int64_t kTurnedRows = 8;
constexpr int64_t kTurnedCols = 16;
constexpr int64_t kStretch = 1024;  // columns that are turned as an item: an even number
constexpr int64_t kTurnedStep = kStretch + kTurnedCols;  // between rows that are rounded later

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
// them, by rows `step` apart.
template <class T>
void turn_block(const Factor<T>& a, int64_t row, int64_t col, T* to, int64_t step) {
  const int64_t n_rows = std::min(kTurnedRows, a.n_rows - row);
  const int64_t n_cols = std::min(kTurnedCols, a.n_cols - col);
  const T* const from = a.at + row * a.row_step + col * a.col_step;
  if constexpr (is_float(T{})) {
    if (n_rows == kTurnedRows && n_cols == kTurnedCols && a.row_step == 1) {
      for (int64_t i = 0; i < kTurnedRows; i += 4) {
        for (int64_t j = 0; j < kTurnedCols; j += 4) {
          turn_four(from + i + j * a.col_step, a.col_step, to + i * step + j, step);
        }
      }
      return;
    }
  }
  for (int64_t i = 0; i < n_rows; ++i) {
    for (int64_t j = 0; j < n_cols; ++j) {
      to[i * step + j] = from[i * a.row_step + j * a.col_step];
    }
  }
}

constexpr int64_t kMemoryLine = 64;

std::byte* aligned(std::vector<std::byte>& bytes) {
  const auto at = reinterpret_cast<uintptr_t>(bytes.data());
  return reinterpret_cast<std::byte*>((at + kMemoryLine - 1) / kMemoryLine * kMemoryLine);
}

}  // namespace

template <class T>
MatrixProducts<T>::MatrixProducts(WorkerPool& pool, const Kernels& kernels,
                                  FactorPrecision precision)
    : pool_(&pool),
      exact_(kernels, FactorPrecision::f32),
      packer_(kernels, is_float(T{}) ? precision : FactorPrecision::f32),
      scratch_(static_cast<size_t>(pool.n_threads())) {}

template <class T>
int64_t MatrixProducts<T>::group_of(const FactorPacker& packer) {
  constexpr int64_t kPlain = 16;
  return is_float(T{}) ? packer.group_rows() : kPlain;
}

// Vectors only grow, so that steps of one size allocate nothing after the first.
template <class T>
void MatrixProducts<T>::reserve(int64_t k) {
  const auto grow = [](auto& vector, int64_t n) {
    vector.resize(std::max(vector.size(), static_cast<size_t>(n)));
  };
  for (Scratch& s : scratch_) {
    if (!is_float(T{})) {
      grow(s.column, k);
      continue;
    }
    grow(s.out, kMostRowsAdded * std::max(exact_.group_rows(), packer_.group_rows()));
    grow(s.packed, std::max(exact_.group_bytes(k), packer_.group_bytes(k)) + kMemoryLine);
    if (packer_.takes_rows()) continue;
    s.turned.resize(kTurnedRows * kTurnedStep);
    grow(s.rounded, packer_.scratch_bytes(k) + kMemoryLine);
  }
}

// Rounded numbers are turned first, in memory of the thread.
template <class T>
void MatrixProducts<T>::copy_block(int thread, const Factor<T>& a, int64_t row, int64_t col,
                                   int64_t step) {
  const int64_t end = std::min(a.n_cols, col + kStretch);
  T* const copy = copy_.data() + row * step;
  if (packer_.takes_rows()) {
    for (int64_t c = col; c < end; c += kTurnedCols) turn_block(a, row, c, copy + c, step);
    return;
  }
  if constexpr (is_float(T{})) {
    T* const turned = scratch_[static_cast<size_t>(thread)].turned.data();
    const int64_t n_rows = std::min(kTurnedRows, a.n_rows - row);
    if (a.col_step != 1) {
      for (int64_t c = col; c < end; c += kTurnedCols) {
        turn_block(a, row, c, turned + c - col, kTurnedStep);
      }
    }
    for (int64_t i = 0; i < n_rows; ++i) {
      const T* const from =
          a.col_step == 1 ? a.at + (row + i) * a.row_step + col : turned + i * kTurnedStep;
      packer_.write_row(reinterpret_cast<std::byte*>(copy + i * step), col, end - col, from,
                        a.n_cols);
    }
  }
}

// The kernels read rows whose numbers follow each other: those of `a`, or copies.
template <class T>
typename MatrixProducts<T>::Rows MatrixProducts<T>::rows_of(const Factor<T>& a) {
  if (a.col_step == 1 && packer_.takes_rows()) return {a.at, a.row_step};
  const int64_t step = is_float(T{}) ? packer_.row_bytes(a.n_cols) / int64_t{sizeof(T)} : a.n_cols;
  copy_.resize(std::max(copy_.size(), static_cast<size_t>(a.n_rows * step)));
  const int64_t n_down = blocks_of(a.n_rows, kTurnedRows);
  const int64_t n_across = blocks_of(a.n_cols, kStretch);
  pool_->run_items(n_down * n_across, [&](int thread, int64_t item) {
    copy_block(thread, a, item % n_down * kTurnedRows, item / n_down * kStretch, step);
  });
  return {copy_.data(), step};
}

// A part is one group. Its number of rows has no effect on the numbers.
template <class T>
void MatrixProducts<T>::multiply(ProductOut<T> out, Factor<T> a, Factor<T> b) {
  if (a.n_rows == 0 || b.n_rows == 0) return;
  if (a.row_step == 1 && b.n_rows <= kNarrow && a.n_rows > kNarrow) {
    return multiply_turned(out, a, b);
  }
  reserve(a.n_cols);
  const Rows rows = rows_of(a);
  const int64_t n_groups = blocks_of(b.n_rows, group_of(packer_));
  const int64_t wanted = blocks_of(kPartsOfThread * pool_->n_threads(), n_groups);
  const int64_t even = blocks_of(blocks_of(a.n_rows, wanted), kLeastRows) * kLeastRows;
  const int64_t height = std::min(even, out.adds ? kMostRowsAdded : kMostRows);
  pool_->run_items(n_groups * blocks_of(a.n_rows, height), [&](int thread, int64_t item) {
    const int64_t row = item / n_groups * height;
    const int64_t group = item % n_groups;
    multiply_part(thread, packer_, out, rows, b,
                  {{row, std::min(a.n_rows, row + height)}, {group, group + 1}});
  });
}

// The factors change places, so that the one which is copied is the narrow one.
template <class T>
void MatrixProducts<T>::multiply_turned(ProductOut<T> out, const Factor<T>& a, const Factor<T>& b) {
  turned_.resize(std::max(turned_.size(), static_cast<size_t>(a.n_rows * b.n_rows)));
  multiply({turned_.data(), a.n_rows, false}, b, a);
  for (int64_t i = 0; i < a.n_rows; ++i) {
    for (int64_t j = 0; j < b.n_rows; ++j) {
      T& to = out.at[i * out.step + j];
      const T sum = turned_[static_cast<size_t>(j * a.n_rows + i)];
      to = out.adds ? to + sum : sum;
    }
  }
}

template <class T>
void MatrixProducts<T>::multiply_on(int thread, ProductOut<T> out, Factor<T> a, Factor<T> b) {
  const int64_t n_groups = blocks_of(b.n_rows, group_of(exact_));
  for (int64_t row = 0; row < a.n_rows; row += kMostRowsAdded) {
    multiply_part(thread, exact_, out, {a.at, a.row_step}, b,
                  {{row, std::min(a.n_rows, row + kMostRowsAdded)}, {0, n_groups}});
  }
}

// Sums of parts that are added are computed apart first.
template <>
void MatrixProducts<float>::multiply_part(int thread, const FactorPacker& packer,
                                          ProductOut<float> out, Rows a, const Factor<float>& b,
                                          const Part& part) {
  Scratch& s = scratch_[static_cast<size_t>(thread)];
  std::byte* const packed = aligned(s.packed);
  const int64_t k = b.n_cols;
  const int64_t n_lanes = packer.group_rows();
  for (int64_t group = part.groups.begin; group < part.groups.end; ++group) {
    const int64_t first = group * n_lanes;
    const int64_t n = std::min(n_lanes, b.n_rows - first);
    const float* const from = b.at + first * b.row_step;
    if (b.row_step == 1) {
      packer.pack_columns(packed, from, b.col_step, n, k);
    } else {
      packer.pack_rows(packed, from, b.row_step, n, k, aligned(s.rounded));
    }
    const int64_t n_rows = part.rows.end - part.rows.begin;
    float* const to = out.at + part.rows.begin * out.step + first;
    packer.kernel().run({.weights = packed,
                         .act = reinterpret_cast<const std::byte*>(a.at + part.rows.begin * a.step),
                         .out = out.adds ? s.out.data() : to,
                         .k = k,
                         .n_groups = 1,
                         .n_cols = n,
                         .n_rows = n_rows,
                         .act_stride = a.step * int64_t{sizeof(float)},
                         .out_stride = out.adds ? n_lanes : out.step,
                         .ahead = packer.kernel().ahead});
    if (!out.adds) continue;
    for (int64_t r = 0; r < n_rows; ++r) {
      const float* const sums = s.out.data() + r * n_lanes;
      for (int64_t i = 0; i < n; ++i) to[r * out.step + i] += sums[i];
    }
  }
}

// Plain loops: double is for checking.
template <>
void MatrixProducts<double>::multiply_part(int thread, const FactorPacker& packer,
                                           ProductOut<double> out, Rows a, const Factor<double>& b,
                                           const Part& part) {
  Scratch& s = scratch_[static_cast<size_t>(thread)];
  const int64_t k = b.n_cols;
  const int64_t n_lanes = group_of(packer);
  for (int64_t j = part.groups.begin * n_lanes; j < std::min(b.n_rows, part.groups.end * n_lanes);
       ++j) {
    const double* column = b.at + j * b.row_step;
    if (b.col_step != 1) {
      for (int64_t p = 0; p < k; ++p) s.column[static_cast<size_t>(p)] = column[p * b.col_step];
      column = s.column.data();
    }
    for (int64_t i = part.rows.begin; i < part.rows.end; ++i) {
      const double* const row = a.at + i * a.step;
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += row[p] * column[p];
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
  const int64_t n = std::clamp<int64_t>(kDecodedNumbers / n_in, 1, w.n_out());
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
