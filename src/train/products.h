// MatrixProducts: the matrix products of training, out = a · bᵀ (or added to it), of factors that
// lie in memory by rows or by columns. Outputs are one chain of multiply-adds along the shared
// dimension, in its order, for any number of threads and, in float32, on every machine.
#pragma once

#include <vector>

#include "base/worker_pool.h"
#include "kernels/kernels.h"
#include "train/train_matrix.h"

namespace ruv {

// Number (i, j) is at[i · row_step + j · col_step]. A matrix and its transpose differ in these
// steps alone, so that the three products of a layer are of one form: its result x · Wᵀ, the
// adjoint g · W of its input, and the gradient gᵀ · x of its matrix.
template <class T>
struct Factor {
  const T* at = nullptr;
  int64_t n_rows = 0;
  int64_t n_cols = 0;
  int64_t row_step = 0;
  int64_t col_step = 1;

  Factor transposed() const { return {at, n_cols, n_rows, col_step, row_step}; }
  Factor rows(int64_t first, int64_t n) const {
    return {at + first * row_step, n, n_cols, row_step, col_step};
  }
};

// The rows of a matrix that lies whole.
template <class T>
Factor<T> whole(const T* at, int64_t n_rows, int64_t n_cols) {
  return {at, n_rows, n_cols, n_cols, 1};
}

// Where a product goes: rows of it begin `step` numbers apart.
template <class T>
struct ProductOut {
  T* at = nullptr;
  int64_t step = 0;
  bool adds = false;
};

template <class T>
class MatrixProducts {
 public:
  MatrixProducts(WorkerPool& pool, const Kernels& kernels);

  // out (a.n_rows, b.n_rows) = a · bᵀ, all threads at work.
  void multiply(ProductOut<T> out, Factor<T> a, Factor<T> b);
  // The same on one thread of the pool. Requires: reserve() with at least the longest shared
  // dimension before the pool began to run.
  void multiply_on(int thread, ProductOut<T> out, Factor<T> a, Factor<T> b);
  void reserve(int64_t k);

  // out = x · Wᵀ, and dx += dy · W, with rows `step` numbers apart. Matrices without values of
  // their own are decoded some rows at a time.
  void forward(T* out, int64_t step, Factor<T> x, const TrainMatrix<T>& w);
  void backward(T* dx, int64_t step, Factor<T> dy, const TrainMatrix<T>& w);

 private:
  // A thread's own memory, so that parts allocate nothing.
  struct Scratch {
    std::vector<T> column;          // double only: a row of b that lies by columns
    std::vector<T> out;             // float32 only: a product to be added
    std::vector<std::byte> packed;  // float32 only
  };
  // A part of a product: rows of a, and groups of b's rows.
  struct Part {
    Range rows, groups;
  };
  void multiply_part(int thread, ProductOut<T> out, const Factor<T>& a, const Factor<T>& b,
                     const Part& part);
  // Requires: float32, room for a group of b.n_cols numbers a row.
  void pack_group(const Factor<T>& b, int64_t first, std::byte* to) const;
  // a by rows: itself or a copy.
  Factor<T> by_rows(Factor<T> a);
  // f(number of the first row, rows) for blocks of the matrix that are whole in memory.
  template <class F>
  void each_block(const TrainMatrix<T>& w, F&& f);

  WorkerPool* pool_;
  const GemmKernel* kernel_;
  int64_t group_;  // rows of b that are multiplied together
  std::vector<Scratch> scratch_;
  std::vector<T> copy_, decoded_;
};

}  // namespace ruv
