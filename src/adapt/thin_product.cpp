#include "adapt/thin_product.h"

#include <cmath>

namespace ruv {
namespace {

Columns copy_of_first(const Columns& x, int64_t n) {
  Columns first(x.n_rows, 0);
  for (int64_t j = 0; j < n; ++j) first.append(x.col(j));
  return first;
}

void scale_column(Columns& x, int64_t j, double factor) {
  for (double& number : x.col(j)) number *= factor;
}

}  // namespace

ThinProduct weighted_sum(std::span<const ThinProduct> terms, std::span<const double> weights) {
  ThinProduct sum{Columns(terms.front().b.n_rows, 0), Columns(terms.front().a.n_rows, 0)};
  for (size_t i = 0; i < terms.size(); ++i) {
    for (int64_t k = 0; k < terms[i].rank(); ++k) {
      sum.b.append(terms[i].b.col(k));
      scale_column(sum.b, sum.b.n_cols - 1, weights[i]);
      sum.a.append(terms[i].a.col(k));
    }
  }
  return sum;
}

// The trace of (xᵀ y) from the small products of the factors.
double inner_product(const ThinProduct& x, const ThinProduct& y) {
  double sum = 0;
  for (int64_t i = 0; i < x.rank(); ++i) {
    for (int64_t j = 0; j < y.rank(); ++j) {
      sum += dot(x.b.col(i), y.b.col(j)) * dot(x.a.col(i), y.a.col(j));
    }
  }
  return sum;
}

// Orthonormal columns do not change lengths, so those of the small factors are enough.
double length_of(const ThinProduct& x) {
  return norm(product_transposed(qr_of(x.b).r, qr_of(x.a).r).numbers);
}

double relative_error(const ThinProduct& exact, const ThinProduct& fitted) {
  const double terms[] = {1, -1};
  const ThinProduct pairs[] = {exact, fitted};
  const double error = length_of(weighted_sum(pairs, terms)), length = length_of(exact);
  return error == 0 ? 0 : error / length;
}

ThinProduct truncated(const ThinProduct& x, int64_t rank) {
  if (x.rank() <= rank) return x;
  // b · aᵀ = Qb · (Rb · Raᵀ) · Qaᵀ, so that only the small matrix in the middle is decomposed.
  const QrFactors b = qr_of(x.b), a = qr_of(x.a);
  const SingularParts core = singular_parts(product_transposed(b.r, a.r));
  const int64_t n = std::min<int64_t>(rank, core.left.n_cols);
  Columns left = copy_of_first(core.left, n), right = copy_of_first(core.right, n);
  for (int64_t j = 0; j < n; ++j) {
    const double root = std::sqrt(core.values[static_cast<size_t>(j)]);
    scale_column(left, j, root > 0 ? 1 / root : 0);
    scale_column(right, j, root);
  }
  return {product(b.q, left), product(a.q, right)};
}

}  // namespace ruv
