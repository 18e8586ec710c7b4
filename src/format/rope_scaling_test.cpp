// Formulas that readers and the writer share.
#include "format/rope_scaling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "format/row_order.h"

namespace ruv {
namespace {

TEST(RopeScaling, TheRampOfLlama3FallsFromOneToZero) {
  const Llama3Scaling scaling{.factor = 8, .low = 1, .high = 4, .original = 8192};
  EXPECT_EQ(scaling.kept_share(2048), 1);
  EXPECT_EQ(scaling.kept_share(8193), 0);
  EXPECT_EQ(scaling.kept_share(8192), 0);
  EXPECT_NEAR(scaling.kept_share(4096), 1.0 / 3, 1e-12);
  EXPECT_TRUE(scaling.is_valid());
  EXPECT_FALSE((Llama3Scaling{.factor = 8, .low = 4, .high = 4, .original = 8192}.is_valid()));
  EXPECT_FALSE((Llama3Scaling{.factor = 8, .low = 1, .high = 4}.is_valid()));
}

// Of 64 pairs at base 10000 and 4096 positions, pair 20 turns 32 times or more, pair 46 once.
TEST(RopeScaling, YarnStretchesPairsThatTurnSeldom) {
  const YarnScaling scaling{.factor = 4, .original = 4096};
  const std::vector<double> shares = scaling.kept_shares(128, 10000);
  ASSERT_EQ(shares.size(), 64U);
  EXPECT_EQ(shares[20], 1);
  EXPECT_NEAR(shares[33], 1 - 13.0 / 26, 1e-12);
  EXPECT_EQ(shares[46], 0);
  EXPECT_EQ(shares[63], 0);
  YarnScaling exact = scaling;
  exact.truncates = false;
  EXPECT_LT(exact.kept_shares(128, 10000)[21], 1);
  EXPECT_GT(exact.kept_shares(128, 10000)[21], shares[21]);
  EXPECT_FALSE((YarnScaling{.factor = 0, .original = 4096}.is_valid()));
  EXPECT_FALSE((YarnScaling{.factor = 2}.is_valid()));
}

// A context below every turn: the ramp has no length.
TEST(RopeScaling, YarnOfATinyContextIsFinite) {
  for (const double original : {1.0, 6.0, 40.0}) {
    for (const double share : YarnScaling{.factor = 2, .original = original}.kept_shares(8, 500)) {
      EXPECT_GE(share, 0);
      EXPECT_LE(share, 1);
    }
  }
}

TEST(RopeScaling, YarnIsLouderWhereItIsLonger) {
  EXPECT_EQ(yarn_magnitude(1), 1);
  EXPECT_DOUBLE_EQ(yarn_magnitude(40), 1 + 0.1 * std::log(40.0));
  EXPECT_DOUBLE_EQ(yarn_magnitude(40, 0.7), 1 + 0.07 * std::log(40.0));
}

TEST(RopeScaling, LongRopeIsLouderWhereItIsLonger) {
  EXPECT_EQ(longrope_magnitude(1, 4096), 1);
  EXPECT_EQ(longrope_magnitude(0.5, 4096), 1);
  EXPECT_DOUBLE_EQ(longrope_magnitude(32, 4096), std::sqrt(1 + std::log(32.0) / std::log(4096.0)));
}

// 4 heads and 2 key heads of 1: q0 q1 k0 v0, q2 q3 k1 v1.
TEST(RowOrder, AFusedMatrixMayLieByKeyHead) {
  const HeadCounts counts = {4, 2, 1};
  const int64_t rows[] = {0, 1, 4, 5, 2, 6, 3, 7};  // q0 q1 q2 q3, k0 k1, v0 v1
  for (int64_t row = 0; row < counts.n_rows(); ++row) {
    EXPECT_EQ(fused_row_of(QkvRows::by_key_head, row, counts), rows[row]);
    EXPECT_EQ(fused_row_of(QkvRows::one_after_another, row, counts), row);
  }
  EXPECT_EQ(fused_row_of(QkvRows::by_key_head, 3 * 8 + 5, {4, 1, 8}), 3 * 8 + 5);
}

// 8 heads of 2: each quarter has q of two heads, v of two, k of two.
TEST(RowOrder, AFusedMatrixMayLieInFourParts) {
  const HeadCounts counts = {8, 8, 2};
  EXPECT_EQ(fused_row_of(QkvRows::four_parts, 0, counts), 0);
  EXPECT_EQ(fused_row_of(QkvRows::four_parts, 3, counts), 3);    // q1
  EXPECT_EQ(fused_row_of(QkvRows::four_parts, 4, counts), 12);   // q2, of the second quarter
  EXPECT_EQ(fused_row_of(QkvRows::four_parts, 16, counts), 8);   // k0
  EXPECT_EQ(fused_row_of(QkvRows::four_parts, 32, counts), 4);   // v0
  EXPECT_EQ(fused_row_of(QkvRows::four_parts, 47, counts), 43);  // v7, its second row
}

TEST(RowOrder, EachOrderUndoesTheOther) {
  const int64_t neighbours[] = {0, 3, 1, 4, 2, 5, 6, 7};  // of 8 rows, 6 rotated, in halves
  for (int64_t row = 0; row < 8; ++row) {
    EXPECT_EQ(neighbours_from_halves(row, 6), neighbours[row]);
    EXPECT_EQ(halves_from_neighbours(neighbours_from_halves(row, 6), 6), row);
  }
}

}  // namespace
}  // namespace ruv
