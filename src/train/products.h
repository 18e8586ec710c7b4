// MatrixProducts: the matrix products of training, out = a · bᵀ (or added to it), of factors that
// lie in memory by rows or by columns. Outputs are one chain of multiply-adds along the shared
// dimension, in its order, for any number of threads and, in float32, on every machine. Factors of
// large products may be rounded to bf16.
#pragma once

#include <vector>

#include "base/worker_pool.h"
#include "train/factor_packer.h"
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
  // In double nothing is rounded.
  MatrixProducts(WorkerPool& pool, const Kernels& kernels,
                 FactorPrecision precision = FactorPrecision::f32);

  // out (a.n_rows, b.n_rows) = a · bᵀ, all threads at work, in the precision of the object.
  void multiply(ProductOut<T> out, Factor<T> a, Factor<T> b);
  // The same on one thread of the pool, factors as they are. Requires: a lies by rows; reserve()
  // with at least the longest shared dimension before the pool began to run.
  void multiply_on(int thread, ProductOut<T> out, Factor<T> a, Factor<T> b);
  void reserve(int64_t k);

  // out = x · Wᵀ, and dx += dy · W, with rows `step` numbers apart. Matrices without values of
  // their own are decoded some rows at a time.
  void forward(T* out, int64_t step, Factor<T> x, const TrainMatrix<T>& w);
  void backward(T* dx, int64_t step, Factor<T> dy, const TrainMatrix<T>& w);

 private:
  // A thread's own memory, so that parts allocate nothing.
  struct Scratch {
    std::vector<T> column;                   // double only: a row of b that lies by columns
    std::vector<T> turned;                   // rows of a before they are rounded
    std::vector<T> out;                      // float32 only: a product to be added
    std::vector<std::byte> packed, rounded;  // float32 only: a group of b, its rows before
  };
  // A part of a product: rows of a, and groups of b's rows.
  struct Part {
    Range rows, groups;
  };
  // Rows of a as the kernels read them, `step` numbers of T apart.
  struct Rows {
    const T* at;
    int64_t step;
  };
  void multiply_part(int thread, const FactorPacker& packer, ProductOut<T> out, Rows a,
                     const Factor<T>& b, const Part& part);
  Rows rows_of(const Factor<T>& a);
  // For an `a` by columns and few rows of b.
  void multiply_turned(ProductOut<T> out, const Factor<T>& a, const Factor<T>& b);
  // Rows of b that are multiplied together.
  static int64_t group_of(const FactorPacker& packer);
  // Rows `row` and some after it, and a stretch of columns from `col` on, to copy_.
  void copy_block(int thread, const Factor<T>& a, int64_t row, int64_t col, int64_t step);
  // f(number of the first row, rows) for blocks of the matrix that are whole in memory.
  template <class F>
  void each_block(const TrainMatrix<T>& w, F&& f);

  WorkerPool* pool_;
  FactorPacker exact_, packer_;
  std::vector<Scratch> scratch_;
  std::vector<T> copy_, decoded_, turned_;
};

}  // namespace ruv
