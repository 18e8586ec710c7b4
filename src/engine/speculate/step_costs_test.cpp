// Costs of steps from noisy, drifting measurements.
#include "engine/speculate/step_costs.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace ruv {
namespace {

TEST(StepCostsTest, UnmeasuredCountsLieBetweenOrAreGuessed) {
  StepCosts costs;
  EXPECT_EQ(costs.of(1), 0);
  costs.record(1, 10);
  EXPECT_DOUBLE_EQ(costs.of(1), 10);
  EXPECT_GT(costs.of(3), costs.of(2));
  EXPECT_GT(costs.of(2), 10);
  costs.record(5, 14);
  EXPECT_DOUBLE_EQ(costs.of(3), 12);
  EXPECT_GT(costs.of(6), 14);
  EXPECT_TRUE(costs.measured(5));
  EXPECT_FALSE(costs.measured(4));
  EXPECT_FALSE(costs.measured(1000));
  EXPECT_DOUBLE_EQ(costs.of(100000), costs.of(StepCosts::kMaxRows));
  StepCosts only_large;
  only_large.record(9, 30);
  EXPECT_LT(only_large.of(1), 30);
  EXPECT_GT(only_large.of(1), 0);
}

TEST(StepCostsTest, NoiseAveragesOutAndOneStallChangesLittle) {
  StepCosts costs;
  Rng rng(1);
  for (int i = 0; i < 400; ++i) {
    const int64_t rows = 1 + static_cast<int64_t>(rng.below(4));
    costs.record(rows, (8 + 2 * static_cast<double>(rows)) * (0.8 + 0.4 * rng.uniform()));
  }
  for (int64_t rows = 1; rows <= 4; ++rows) {
    EXPECT_NEAR(costs.of(rows) / (8 + 2 * static_cast<double>(rows)), 1, 0.12) << rows;
  }
  const double before = costs.of(2);
  costs.record(2, 100000);
  EXPECT_LT(costs.of(2), before * 1.2);
  EXPECT_LT(costs.of(4) / costs.of(1), 1.9);
}

TEST(StepCostsTest, WhatIsNotMeasuredMovesAlong) {
  StepCosts costs;
  for (int i = 0; i < 20; ++i) {
    costs.record(1, 10);
    costs.record(4, 15);
  }
  // The context grows until a step takes twice as long; mostly plain steps see it.
  for (int i = 0; i < 400; ++i) {
    const double growth = 1 + i / 400.0;
    costs.record(1, 10 * growth);
    if (i % 40 == 0) costs.record(4, 15 * growth);
  }
  EXPECT_NEAR(costs.of(4) / costs.of(1), 1.5, 0.2);
}

TEST(StepCostsTest, AColdFirstStepIsNotBelievedForGood) {
  StepCosts costs;
  for (int i = 0; i < 10; ++i) {
    costs.record(1, 7.5);
    costs.record(2, 7.6);
  }
  costs.record(3, 15);
  EXPECT_NEAR(costs.of(3), 15, 0.1);
  EXPECT_GT(costs.of(4), 15);
  for (int i = 0; i < 64; ++i) costs.record(2, 7.6);
  EXPECT_TRUE(costs.measured(3));
  costs.record(2, 7.6);
  EXPECT_FALSE(costs.measured(3));
  EXPECT_NEAR(costs.of(3), 7.7, 0.1);  // the line of the others
  costs.record(3, 14);
  EXPECT_NEAR(costs.of(3), 14, 0.1);
  costs.record(3, 8);  // the second one is warm
  EXPECT_NEAR(costs.of(3), 8, 0.1);
}

TEST(StepCostsTest, WhatWasSeenOftenIsKept) {
  StepCosts costs;
  for (int i = 0; i < 3; ++i) costs.record(5, 20);
  for (int i = 0; i < 1000; ++i) costs.record(1, 10);
  EXPECT_TRUE(costs.measured(5));
  EXPECT_NEAR(costs.of(5), 20, 0.1);
}

TEST(StepCostsTest, MoreRowsAreNeverFaster) {
  StepCosts costs;
  costs.record(1, 7);
  costs.record(3, 15);
  costs.record(8, 9);
  EXPECT_DOUBLE_EQ(costs.of(3), 9);
  EXPECT_DOUBLE_EQ(costs.of(8), 9);
  EXPECT_LT(costs.of(2), 9);
}

TEST(StepCostsTest, NonsenseIsIgnored) {
  StepCosts costs;
  costs.record(0, 10);
  costs.record(-3, 10);
  costs.record(1, 0);
  costs.record(1, -1);
  costs.record(StepCosts::kMaxRows + 1, 10);
  EXPECT_EQ(costs.of(1), 0);
}

}  // namespace
}  // namespace ruv
