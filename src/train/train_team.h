// TrainTeam: what entries of a tape compute with. Sums over rows are taken column by column, in the
// order of the rows, so that results do not depend on the number of threads.
#pragma once

#include "device/batch.h"
#include "train/products.h"
#include "train/tape.h"

namespace ruv {

// References to what the operations of a device share.
template <class T>
struct TrainTeam {
  WorkerPool& pool;
  MatrixProducts<T>& products;
  KeptMemory<T>& kept;
  const Kernels& kernels;
};

// Fewer numbers than this are computed by one thread.
inline constexpr int64_t kNumbersForThreads = 16384;

// f(row) for all rows, some of them at a time for each thread.
template <class F>
void each_row(WorkerPool& pool, int64_t n_rows, int64_t n_cols, F&& f) {
  constexpr int64_t kRows = 4;
  if (n_rows * n_cols < kNumbersForThreads) {
    for (int64_t i = 0; i < n_rows; ++i) f(i);
    return;
  }
  pool.run_items((n_rows + kRows - 1) / kRows, [&](int, int64_t item) {
    const int64_t end = item * kRows + kRows < n_rows ? item * kRows + kRows : n_rows;
    for (int64_t i = item * kRows; i < end; ++i) f(i);
  });
}

// f(columns) for ranges of columns that cover all: a range reads all rows, in their order.
template <class F>
void each_columns(WorkerPool& pool, int64_t n_rows, int64_t n_cols, F&& f) {
  constexpr int64_t kColumns = 64;
  if (n_rows * n_cols < kNumbersForThreads) return f(Range{0, n_cols});
  pool.run_items((n_cols + kColumns - 1) / kColumns, [&](int, int64_t item) {
    const int64_t first = item * kColumns;
    f(Range{first, first + kColumns < n_cols ? first + kColumns : n_cols});
  });
}

}  // namespace ruv
