// Small changes for tests: as a thin product, and its numbers by rows.
#pragma once

#include <initializer_list>

#include "adapt/thin_product.h"
#include "base/rng.h"

namespace ruv {

// b · aᵀ of two vectors.
inline ThinProduct rank_one(std::initializer_list<double> b, std::initializer_list<double> a) {
  ThinProduct product{Columns(static_cast<int64_t>(b.size()), 0),
                      Columns(static_cast<int64_t>(a.size()), 0)};
  product.b.append(std::vector<double>(b));
  product.a.append(std::vector<double>(a));
  return product;
}

// A matrix of two columns: its own columns times those of the unit matrix.
inline ThinProduct two_columns(std::initializer_list<double> first,
                               std::initializer_list<double> second) {
  ThinProduct product = rank_one(first, {1, 0});
  product.b.append(std::vector<double>(second));
  product.a.append(std::vector<double>{0, 1});
  return product;
}

inline ThinProduct random_product(int64_t n_rows, int64_t n_cols, int64_t rank, uint64_t seed) {
  ThinProduct product{Columns(n_rows, rank), Columns(n_cols, rank)};
  Rng rng(seed);
  for (Columns* const half : {&product.b, &product.a}) {
    for (double& number : half->numbers) number = 2 * rng.uniform() - 1;
  }
  return product;
}

inline std::vector<float> numbers_of(const ThinProduct& product) {
  const Columns matrix = product_transposed(product.b, product.a);
  std::vector<float> numbers;
  for (int64_t i = 0; i < matrix.n_rows; ++i) {
    for (int64_t j = 0; j < matrix.n_cols; ++j) {
      numbers.push_back(static_cast<float>(matrix.col(j)[static_cast<size_t>(i)]));
    }
  }
  return numbers;
}

}  // namespace ruv
