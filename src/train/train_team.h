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

// Calls f(first, n) for stretches of n numbers, on all threads where they are many.
template <class F>
void each_stretch(WorkerPool& pool, int64_t n, F&& f) {
  if (n < kNumbersForThreads) return f(int64_t{0}, n);
  constexpr int64_t kNumbers = 65536;
  pool.run_items((n + kNumbers - 1) / kNumbers, [&](int, int64_t item) {
    const int64_t first = item * kNumbers;
    f(first, n - first < kNumbers ? n - first : kNumbers);
  });
}

template <class T>
void KeptNumbers<T>::keep(const T* from, int64_t n, TrainTeam<T>& team) {
  T* const to = take(n, team.kept);
  each_stretch(team.pool, n,
               [&](int64_t first, int64_t size) { std::copy_n(from + first, size, to + first); });
}

// What an entry took from its result is 0 after it.
template <class T>
void clear_adjoints(TrainTeam<T>& team, const Adjoined<T>& x) {
  each_stretch(team.pool, x.size(),
               [&](int64_t first, int64_t n) { std::fill_n(x.adjoints + first, n, T{0}); });
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
