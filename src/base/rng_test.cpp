#include "base/rng.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(Rng, IsTheSameEverywhere) {
  Rng rng(42);
  EXPECT_EQ(rng.next(), 1546998764402558742ULL);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) sum += rng.uniform();
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

}  // namespace
}  // namespace ruv
