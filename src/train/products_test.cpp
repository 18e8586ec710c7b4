// Products of factors in any layout: each number is one chain of multiply-adds in the order of the
// shared dimension.
#include "train/products.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"

namespace ruv::products_test {
namespace {

// A factor of random numbers, by rows or by columns, with room between them.
struct Numbers {
  Numbers(int64_t n_rows, int64_t n_cols, bool by_columns, Rng& rng) {
    const int64_t step = (by_columns ? n_rows : n_cols) + 3;
    for (int64_t i = 0; i < step * (by_columns ? n_cols : n_rows); ++i) {
      held.push_back(static_cast<float>(rng.uniform()) - 0.5F);
    }
    factor = {held.data(), n_rows, n_cols, by_columns ? 1 : step, by_columns ? step : 1};
  }
  float at(int64_t i, int64_t j) const {
    return factor.at[i * factor.row_step + j * factor.col_step];
  }

  std::vector<float> held;
  Factor<float> factor;
};

constexpr float kBefore = 0.25F;

std::vector<float> product_of(const Numbers& a, const Numbers& b, bool adds, int n_threads,
                              FactorPrecision precision = FactorPrecision::f32) {
  WorkerPool pool(n_threads);
  MatrixProducts<float> products(pool, portable_kernels(), precision);
  const int64_t step = b.factor.n_rows + 5;
  std::vector<float> out(static_cast<size_t>(a.factor.n_rows * step), kBefore);
  products.multiply({out.data(), step, adds}, a.factor, b.factor);
  return out;
}

void check_product(const Numbers& a, const Numbers& b, bool adds, int n_threads) {
  const std::vector<float> out = product_of(a, b, adds, n_threads);
  const int64_t step = b.factor.n_rows + 5;
  for (int64_t i = 0; i < a.factor.n_rows; ++i) {
    for (int64_t j = 0; j < step; ++j) {
      float sum = 0;
      const int64_t k = j < b.factor.n_rows ? a.factor.n_cols : 0;
      for (int64_t p = 0; p < k; ++p) sum = std::fma(b.at(j, p), a.at(i, p), sum);
      const float expected = k == 0 ? kBefore : adds ? kBefore + sum : sum;
      ASSERT_EQ(out[static_cast<size_t>(i * step + j)], expected)
          << i << ", " << j << " of " << a.factor.n_rows << " x " << b.factor.n_rows << ", k "
          << a.factor.n_cols << (adds ? ", added" : "");
    }
  }
}

TEST(Products, AreChainsOfMultiplyAddsInAnyLayout) {
  constexpr int64_t kSizes[][3] = {{1, 1, 1},    {7, 33, 16},   {8, 64, 16},     {75, 8, 33},
                                   {24, 70, 48}, {65, 130, 31}, {600, 65, 1030}, {41, 16, 20}};
  for (const auto& [n_rows, n_cols, k] : kSizes) {
    for (const bool a_by_columns : {false, true}) {
      for (const bool b_by_columns : {false, true}) {
        Rng rng(static_cast<uint64_t>(n_rows * 7 + k));
        const Numbers a(n_rows, k, a_by_columns, rng);
        const Numbers b(n_cols, k, b_by_columns, rng);
        check_product(a, b, a_by_columns, 2);
        check_product(a, b, !a_by_columns, 1);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// The value that is nearest in 8 bits of mantissa, the even one of two.
float rounded(float x) {
  int exponent = 0;
  const float mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(mantissa * 256), exponent - 8);
}

// Sums are taken in another order by other processors, so that they may differ by their rounding.
TEST(Products, AreOfFactorsRoundedToBf16WhereThatIsChosen) {
  constexpr int64_t kSizes[][3] = {{1, 1, 1}, {9, 70, 33}, {70, 8, 31}, {200, 65, 2051}};
  for (const auto& [n_rows, n_cols, k] : kSizes) {
    for (const bool a_by_columns : {false, true}) {
      for (const bool b_by_columns : {false, true}) {
        Rng rng(static_cast<uint64_t>(n_rows + k));
        const Numbers a(n_rows, k, a_by_columns, rng);
        const Numbers b(n_cols, k, b_by_columns, rng);
        const std::vector<float> out = product_of(a, b, true, 2, FactorPrecision::bf16);
        EXPECT_EQ(out, product_of(a, b, true, 1, FactorPrecision::bf16));
        double differs = 0;
        for (int64_t i = 0; i < n_rows; ++i) {
          for (int64_t j = 0; j < n_cols; ++j) {
            double sum = kBefore, exact = kBefore, size = 1;
            for (int64_t p = 0; p < k; ++p) {
              sum += double{rounded(a.at(i, p))} * double{rounded(b.at(j, p))};
              exact += double{a.at(i, p)} * double{b.at(j, p)};
              size += std::abs(double{a.at(i, p)} * double{b.at(j, p)});
            }
            const double is = double{out[static_cast<size_t>(i * (n_cols + 5) + j)]};
            ASSERT_NEAR(is, sum, size * 1e-6) << i << ", " << j << ", k " << k;
            differs = std::max(differs, std::abs(is - exact));
          }
        }
        EXPECT_GT(differs, 1e-6);  // it was rounded
      }
    }
  }
}

}  // namespace
}  // namespace ruv::products_test
