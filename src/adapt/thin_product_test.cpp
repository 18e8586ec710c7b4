// The linear algebra of merging against matrices whose answers are known.
#include "adapt/thin_product.h"

#include <gtest/gtest.h>

#include <cmath>

#include "adapt/test_products.h"

namespace ruv {
namespace {

void expect_orthonormal(const Columns& x) {
  for (int64_t i = 0; i < x.n_cols; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      EXPECT_NEAR(dot(x.col(i), x.col(j)), i == j ? 1 : 0, 1e-12) << i << " " << j;
    }
  }
}

TEST(QrOf, LeavesDependentColumnsOut) {
  Columns x(3, 0);
  x.append(std::vector<double>{3, 0, 4});
  x.append(std::vector<double>{6, 0, 8});
  x.append(std::vector<double>{0, 2, 0});
  x.append(std::vector<double>{0, 0, 0});
  const QrFactors qr = qr_of(x);
  ASSERT_EQ(qr.q.n_cols, 2);
  expect_orthonormal(qr.q);
  const Columns back = product(qr.q, qr.r);
  for (size_t i = 0; i < x.numbers.size(); ++i) EXPECT_NEAR(back.numbers[i], x.numbers[i], 1e-14);
}

TEST(SingularParts, OfADiagonalAreItsNumbersInOrder) {
  Columns x(3, 3);
  x.col(0)[0] = 2;
  x.col(1)[1] = -7;
  x.col(2)[2] = 1e-9;
  EXPECT_EQ(singular_parts(x).values, (std::vector<double>{7, 2, 1e-9}));
}

TEST(SingularParts, AreThoseOfTheMatrix) {
  const Columns x = random_product(20, 9, 9, 3).b;
  const SingularParts parts = singular_parts(x);
  expect_orthonormal(parts.right);
  const Columns back = product_transposed(parts.left, parts.right);
  for (size_t i = 0; i < x.numbers.size(); ++i) EXPECT_NEAR(back.numbers[i], x.numbers[i], 1e-13);
  double squares = 0;
  for (const double value : parts.values) squares += value * value;
  EXPECT_NEAR(squares, dot(x.numbers, x.numbers), 1e-12);
}

TEST(Truncated, KeepsTheLargestPart) {
  // 6 · uuᵀ + 2 · vvᵀ with unit vectors: the closest of rank one is the first.
  const double terms[] = {1, 1};
  const ThinProduct pairs[] = {rank_one({3, 0}, {0, 2}), rank_one({0, 2}, {1, 0})};
  const ThinProduct sum = weighted_sum(pairs, terms);
  const ThinProduct best = truncated(sum, 1);
  EXPECT_EQ(best.rank(), 1);
  EXPECT_EQ(numbers_of(best), (std::vector<float>{0, 6, 0, 0}));
  EXPECT_NEAR(norm(best.b.col(0)), norm(best.a.col(0)), 1e-14);
  EXPECT_NEAR(relative_error(sum, best), 2 / std::sqrt(40.0), 1e-15);
  EXPECT_EQ(relative_error(sum, truncated(sum, 2)), 0);
}

TEST(Truncated, OfAProductWithIdleColumnsIsExactAtItsTrueRank) {
  const double terms[] = {1, -0.25};
  const ThinProduct once = random_product(30, 40, 3, 1);
  const ThinProduct pairs[] = {once, once};
  const ThinProduct sum = weighted_sum(pairs, terms);
  const ThinProduct best = truncated(sum, 3);
  EXPECT_EQ(best.rank(), 3);
  EXPECT_LT(relative_error(sum, best), 1e-14);
}

class DenseTruncated : public testing::TestWithParam<int> {};

TEST_P(DenseTruncated, IsThatOfTheFactors) {
  WorkerPool pool(GetParam());
  const ThinProduct exact = random_product(70, 50, 12, 9);
  const std::vector<float> numbers = numbers_of(exact);
  const DenseChange dense{70, 50, numbers.data()};
  for (const int64_t rank : {1, 5, 12, 50}) {
    const ThinProduct best = truncated(exact, rank), found = truncated(dense, rank, 1, pool);
    EXPECT_LE(found.rank(), rank);
    EXPECT_NEAR(relative_error(dense, found, pool), relative_error(exact, best), 1e-6) << rank;
    EXPECT_LT(relative_error(best, found), 1e-5) << rank;
  }
}
INSTANTIATE_TEST_SUITE_P(Threads, DenseTruncated, testing::Values(1, 3));

TEST(DenseTruncation, FindsEqualSingularValuesAndNothingInZeros) {
  WorkerPool pool(1);
  std::vector<float> unit(36);
  const DenseChange dense{6, 6, unit.data()};
  EXPECT_EQ(relative_error(dense, truncated(dense, 4, 0, pool), pool), 0);
  for (size_t i = 0; i < 6; ++i) unit[7 * i] = 3;
  EXPECT_NEAR(relative_error(dense, truncated(dense, 4, 0, pool), pool), std::sqrt(2.0 / 6), 1e-12);
  EXPECT_NEAR(relative_error(dense, truncated(dense, 6, 0, pool), pool), 0, 1e-12);
}

TEST(DenseTruncation, HasTheSameBitsWithAnyNumberOfThreads) {
  const std::vector<float> numbers = numbers_of(random_product(40, 33, 33, 4));
  const DenseChange dense{40, 33, numbers.data()};
  WorkerPool one(1), four(4);
  const ThinProduct x = truncated(dense, 5, 7, one), y = truncated(dense, 5, 7, four);
  EXPECT_EQ(x.b.numbers, y.b.numbers);
  EXPECT_EQ(x.a.numbers, y.a.numbers);
}

}  // namespace
}  // namespace ruv
