// ThinProduct: a change of a weight matrix as the product of two thin ones, and the best such
// product of a given rank for a sum of them or for a matrix of numbers.
#pragma once

#include "adapt/columns.h"
#include "base/worker_pool.h"

namespace ruv {

// The matrix b · aᵀ.
struct ThinProduct {
  Columns b;  // (n_out, rank)
  Columns a;  // (n_in, rank), a row of A in each column

  int64_t rank() const { return b.n_cols; }
};

// Numbers of a change that has no two thin factors, by rows.
struct DenseChange {
  int64_t n_rows = 0, n_cols = 0;
  const float* numbers = nullptr;

  const float* row(int64_t i) const { return numbers + i * n_cols; }
};

// All columns of the terms, those of b times the weight of their term: exactly the weighted sum.
ThinProduct weighted_sum(std::span<const ThinProduct> terms, std::span<const double> weights);
// Σ over all numbers of x · y, without making the matrices.
double inner_product(const ThinProduct& x, const ThinProduct& y);
// Euclidean length of all numbers of the matrix, to rounding relative to its own size.
double length_of(const ThinProduct& x);
// The length of exact - fitted over that of exact; 0 where both are 0.
double relative_error(const ThinProduct& exact, const ThinProduct& fitted);
double relative_error(const DenseChange& exact, const ThinProduct& fitted, WorkerPool& pool);

// The closest pair of this rank at most, in the sum of squares; the columns of b and a have equal
// lengths. As it is where its rank is not above that.
ThinProduct truncated(const ThinProduct& x, int64_t rank);
// The same for numbers, by growing blocks of Mᵀ M until another block finds nothing more. `seed`
// draws the first block.
ThinProduct truncated(const DenseChange& x, int64_t rank, uint64_t seed, WorkerPool& pool);

}  // namespace ruv
