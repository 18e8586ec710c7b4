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

TEST(RopeScaling, LongRopeIsLouderWhereItIsLonger) {
  EXPECT_EQ(longrope_magnitude(1, 4096), 1);
  EXPECT_EQ(longrope_magnitude(0.5, 4096), 1);
  EXPECT_DOUBLE_EQ(longrope_magnitude(32, 4096), std::sqrt(1 + std::log(32.0) / std::log(4096.0)));
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
