#include "model/alibi.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(Alibi, SlopesOfAPowerOfTwoFallGeometrically) {
  const std::vector<float> slopes = alibi_slopes(8, 8);
  ASSERT_EQ(slopes.size(), 8U);
  EXPECT_FLOAT_EQ(slopes[0], 0.5F);
  EXPECT_FLOAT_EQ(slopes[7], 1.0F / 256);
  EXPECT_FLOAT_EQ(alibi_slopes(1, 8)[0], 1.0F / 256);
  EXPECT_FLOAT_EQ(alibi_slopes(4, 4)[0], 0.5F);
}

// As the authors' code: 12 heads have the slopes of 8, and then every other one of those of 16.
TEST(Alibi, OtherCountsTakeTheRestFromTwiceThePower) {
  const std::vector<float> slopes = alibi_slopes(12, 8);
  const std::vector<float> eight = alibi_slopes(8, 8), sixteen = alibi_slopes(16, 8);
  ASSERT_EQ(slopes.size(), 12U);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(slopes[i], eight[i]);
  for (size_t i = 8; i < 12; ++i) EXPECT_FLOAT_EQ(slopes[i], sixteen[2 * (i - 8)]);
}

}  // namespace
}  // namespace ruv
