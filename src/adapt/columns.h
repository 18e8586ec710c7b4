// Columns: a matrix of doubles by columns, and the linear algebra that merging adapters needs: QR
// with as many columns as are independent, and the singular values of small matrices. The same
// input gives the same bits, whatever the number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ruv {

struct Columns {
  Columns() = default;
  Columns(int64_t rows, int64_t cols)
      : n_rows(rows), n_cols(cols), numbers(static_cast<size_t>(rows * cols)) {}

  std::span<double> col(int64_t j) { return {numbers.data() + j * n_rows, size()}; }
  std::span<const double> col(int64_t j) const { return {numbers.data() + j * n_rows, size()}; }
  // Requires: n_rows numbers.
  void append(std::span<const double> column);

  int64_t n_rows = 0, n_cols = 0;
  std::vector<double> numbers;

 private:
  size_t size() const { return static_cast<size_t>(n_rows); }
};

double dot(std::span<const double> x, std::span<const double> y);
double norm(std::span<const double> x);
// y += a · x.
void add_scaled(std::span<double> y, double a, std::span<const double> x);
// The product x · y. Requires: x.n_cols == y.n_rows.
Columns product(const Columns& x, const Columns& y);
// The product x · yᵀ. Requires: x.n_cols == y.n_cols.
Columns product_transposed(const Columns& x, const Columns& y);

// Appends what is left of the column without its parts along the basis, as a unit vector. False: a
// share of 1e-13 at most is left, and nothing is appended. Its coefficients in the basis,
// with the new vector's where there is one, are put in `coefficients`. Requires: the columns of
// `basis` are orthonormal.
bool extend_basis(Columns& basis, std::vector<double> column, std::vector<double>& coefficients);

// x = q · r; the columns of q are orthonormal, and there are as many as columns of x do not depend
// on those before them.
struct QrFactors {
  Columns q, r;
};
QrFactors qr_of(const Columns& x);

// x = Σ left_j · rightᵀ_j with orthonormal columns of `right` and orthogonal ones of `left`, whose
// lengths are the singular values, the largest first. One-sided Jacobi rotations.
struct SingularParts {
  Columns left, right;
  std::vector<double> values;
};
SingularParts singular_parts(const Columns& x);

}  // namespace ruv
