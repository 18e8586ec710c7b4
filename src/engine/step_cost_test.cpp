#include "engine/step_cost.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"

namespace ruv {
namespace {

double true_ms(const StepCost& cost, const StepShape& shape) {
  return cost.fixed_ms + cost.row_ms * static_cast<double>(shape.n_rows) +
         cost.context_ms * shape.context / StepCost::kContextUnit;
}

StepShape shape_of(int64_t first, int64_t n) { return {n, StepCost::context_of(first, n)}; }

void expect_close(const StepCost& fit, const StepCost& cost, const StepShape& shape, double share) {
  EXPECT_NEAR(true_ms(fit, shape) / true_ms(cost, shape), 1, share)
      << shape.n_rows << " rows: " << fit.fixed_ms << " " << fit.row_ms << " " << fit.context_ms;
}

TEST(StepCost, RowsWithinIsTheMostThatFit) {
  for (const StepCost cost : {StepCost{10, 0.5, 0}, StepCost{10, 0.5, 2}, StepCost{0, 0.01, 0.3}}) {
    for (const int64_t first : {0, 100, 8000}) {
      for (const double ms : {0.6, 5.0, 77.0, 500.0}) {
        const int64_t n = cost.rows_within(ms, first);
        EXPECT_LE(cost.rows_ms(first, n), ms * (1 + 1e-9));
        EXPECT_GT(cost.rows_ms(first, n + 1), ms);
      }
    }
  }
}

TEST(StepCost, RowsWithinNoTimeIsNone) {
  const StepCost cost{10, 0.5, 2};
  EXPECT_EQ(cost.rows_within(0, 10), 0);
  EXPECT_EQ(cost.rows_within(-5, 10), 0);
  EXPECT_GT((StepCost{10, 0, 0}).rows_within(1, 10), 1 << 20) << "rows that cost nothing";
}

TEST(StepTimer, SaysNothingBeforeItSawTwoSizes) {
  StepTimer timer;
  for (int i = 0; i < 50; ++i) timer.add(shape_of(i, 1), 20);
  EXPECT_FALSE(timer.cost().measured());
  timer.add(shape_of(0, 100), 120);
  EXPECT_TRUE(timer.cost().measured());
}

TEST(StepTimer, FindsTheCosts) {
  const StepCost cost{.fixed_ms = 40, .row_ms = 1.5, .context_ms = 0.4};
  StepTimer timer;
  Rng rng(1);
  for (int i = 0; i < 400; ++i) {
    const StepShape shape = shape_of(static_cast<int64_t>(rng.below(8000)),
                                     i % 5 == 0 ? static_cast<int64_t>(rng.below(512)) + 1
                                                : static_cast<int64_t>(rng.below(8)) + 1);
    timer.add(shape, true_ms(cost, shape) * (0.95 + 0.1 * rng.uniform()));
  }
  EXPECT_NEAR(timer.cost().fixed_ms, 40, 4);
  EXPECT_NEAR(timer.cost().row_ms, 1.5, 0.3);
  EXPECT_NEAR(timer.cost().context_ms, 0.4, 0.1);
  expect_close(timer.cost(), cost, shape_of(4000, 64), 0.1);
}

TEST(StepTimer, OneStepInTenThatWasHeldUpDoesNotMatter) {
  const StepCost cost{.fixed_ms = 40, .row_ms = 1.5, .context_ms = 0.4};
  StepTimer timer;
  Rng rng(2);
  for (int i = 0; i < 400; ++i) {
    const StepShape shape =
        shape_of(static_cast<int64_t>(rng.below(2000)), static_cast<int64_t>(1) << rng.below(9));
    timer.add(shape, true_ms(cost, shape) * (rng.below(10) == 0 ? 8 : 1));
  }
  for (const int64_t n : {1, 8, 64, 256}) {
    expect_close(timer.cost(), cost, shape_of(500, n), 0.12);
  }
}

TEST(StepTimer, OneStepInFourThatTakesTwiceAsLongHardlyMatters) {
  const StepCost cost{.fixed_ms = 40, .row_ms = 1.5, .context_ms = 0.4};
  StepTimer timer;
  Rng rng(6);
  for (int i = 0; i < 400; ++i) {
    const StepShape shape =
        shape_of(static_cast<int64_t>(rng.below(2000)), static_cast<int64_t>(1) << rng.below(9));
    timer.add(shape, true_ms(cost, shape) * (rng.below(4) == 0 ? 2 : 1));
  }
  for (const int64_t n : {1, 8, 64, 256}) expect_close(timer.cost(), cost, shape_of(500, n), 0.07);
}

TEST(StepTimer, FollowsAMachineThatSlowsDown) {
  StepCost cost{.fixed_ms = 40, .row_ms = 1.5, .context_ms = 0.4};
  StepTimer timer;
  Rng rng(3);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 400; ++i) {
      const StepShape shape =
          shape_of(static_cast<int64_t>(rng.below(2000)), static_cast<int64_t>(1) << rng.below(9));
      timer.add(shape, true_ms(cost, shape));
    }
    expect_close(timer.cost(), cost, shape_of(500, 32), 0.05);
    cost.fixed_ms *= 2;
    cost.row_ms *= 2;
  }
}

TEST(StepTimer, LongDecodingDoesNotMakeItForgetPrompts) {
  const StepCost cost{.fixed_ms = 40, .row_ms = 1.5, .context_ms = 0.4};
  StepTimer timer;
  for (int64_t i = 0; i < 8; ++i)
    timer.add(shape_of(i * 128, 128), true_ms(cost, shape_of(i * 128, 128)));
  for (int64_t i = 0; i < 5000; ++i) {
    timer.add(shape_of(1024 + i, 1), true_ms(cost, shape_of(1024 + i, 1)));
  }
  expect_close(timer.cost(), cost, shape_of(500, 100), 0.05);
}

TEST(StepTimer, NeverSaysThatRowsBringTimeBack) {
  Rng rng(4);
  for (int round = 0; round < 200; ++round) {
    StepTimer timer;
    for (int i = 0; i < 60; ++i) {
      timer.add(
          shape_of(static_cast<int64_t>(rng.below(4000)), static_cast<int64_t>(rng.below(300)) + 1),
          1 + rng.uniform() * 100);
    }
    EXPECT_GE(timer.cost().fixed_ms, 0);
    EXPECT_GE(timer.cost().row_ms, 0);
    EXPECT_GE(timer.cost().context_ms, 0);
    EXPECT_TRUE(timer.cost().measured() || timer.cost().context_ms > 0);
  }
}

TEST(StepTimer, ImpossibleMeasurementsAreIgnored) {
  StepTimer timer;
  timer.add({0, 0}, 10);
  timer.add({5, 0}, 0);
  timer.add({5, 0}, -1);
  timer.add({5, 0}, std::nan(""));
  timer.add({50, 0}, 10);
  EXPECT_FALSE(timer.cost().measured());
}

}  // namespace
}  // namespace ruv
