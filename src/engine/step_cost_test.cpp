#include "engine/step_cost.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"

namespace ruv {
namespace {

double true_ms(const StepCost& cost, const StepShape& shape) {
  return cost.fixed_ms + cost.row_ms * static_cast<double>(shape.n_rows) +
         (cost.context_ms * shape.context + cost.reach_ms * shape.reach) / StepCost::kContextUnit +
         cost.output_ms * static_cast<double>(shape.n_outputs);
}

StepShape shape_of(int64_t first, int64_t n) { return StepShape::of(first, n); }

void expect_close(const StepCost& fit, const StepCost& cost, const StepShape& shape, double share) {
  EXPECT_NEAR(true_ms(fit, shape) / true_ms(cost, shape), 1, share)
      << shape.n_rows << " rows: " << fit.fixed_ms << " " << fit.row_ms << " " << fit.context_ms;
}

TEST(StepCost, RowsWithinIsTheMostThatFit) {
  StepCost tiled{10, 0.5, 2, 1};
  for (size_t size = 0; size < StepCost::kSizes; ++size)
    tiled.factors[size] = size % 3 == 0 ? 1.4 : 0.9;
  for (const StepCost& cost :
       {StepCost{10, 0.5, 0}, StepCost{10, 0.5, 2}, StepCost{0, 0.01, 0.3, 0.7}, tiled}) {
    for (const StepShape& step : {StepShape{}, shape_of(0, 5), shape_of(700, 1) + shape_of(9, 1)}) {
      for (const int64_t first : {0, 100, 8000}) {
        for (const double ms : {0.6, 5.0, 20.0, 77.0, 500.0}) {
          const int64_t n = cost.rows_within(ms, step, first);
          int64_t most = 0;
          for (int64_t k = 1; k < 60'000; ++k) {
            const bool fits = cost.step_ms(step + shape_of(first, k)) <= ms * (1 + 1e-9);
            if (fits) most = k;
          }
          EXPECT_EQ(n, most) << first << " " << ms << " beside " << step.n_rows;
        }
      }
    }
  }
}

// The weights of experts that a step reads first grow with its rows and then no more.
TEST(StepCost, RowsOfModelsWithExpertsReadMoreWeights) {
  const StepCost cost{.fixed_ms = 10, .row_ms = 0.1, .experts_ms = 100, .share_of_experts = 0.125};
  EXPECT_DOUBLE_EQ(cost.step_ms(shape_of(0, 1)), 10.1 + 12.5);
  EXPECT_DOUBLE_EQ(cost.step_ms(shape_of(0, 2)), 10.2 + 100 * (1 - 0.875 * 0.875));
  EXPECT_NEAR(cost.step_ms(shape_of(0, 200)), 10 + 20 + 100, 1e-6);
  EXPECT_EQ((StepCost{.experts_ms = 100}).step_ms(shape_of(0, 5)), 0) << "there are none";
  for (const int64_t n_before : {0, 1, 7, 40}) {
    for (const double ms : {20.0, 30.0, 50.0, 70.0, 90.0, 105.0, 112.0, 118.0, 140.0, 500.0}) {
      const int64_t n = cost.rows_within(ms, shape_of(0, n_before), 0);
      const StepShape step = shape_of(0, n_before) + shape_of(0, n);
      EXPECT_TRUE(n == 0 || cost.step_ms(step) <= ms) << n << " in " << ms;
      const int64_t more = n + std::max<int64_t>(4, n / 2);
      EXPECT_GT(cost.step_ms(shape_of(0, n_before) + shape_of(0, more)), ms);
    }
  }
}

TEST(StepTimer, FindsTheCostOfReadingExperts) {
  const StepCost cost{.fixed_ms = 4, .row_ms = 0.2, .experts_ms = 80, .share_of_experts = 0.0625};
  StepTimer timer(0.0625);
  Rng rng(3);
  for (int i = 0; i < 600; ++i) {
    const StepShape shape = shape_of(0, 1 + static_cast<int64_t>(rng.below(i % 3 == 0 ? 200 : 12)));
    timer.add(shape, cost.sum_ms(shape) * (0.98 + 0.04 * rng.uniform()));
  }
  EXPECT_NEAR(timer.cost().experts_ms, 80, 8);
  EXPECT_NEAR(timer.cost().sum_ms(shape_of(0, 1)), cost.sum_ms(shape_of(0, 1)), 0.5);
  EXPECT_NEAR(timer.cost().sum_ms(shape_of(0, 5)), cost.sum_ms(shape_of(0, 5)), 1.5);
}

TEST(StepCost, RowsWithinNoTimeIsNone) {
  const StepCost cost{10, 0.5, 2};
  EXPECT_EQ(cost.rows_within(0, {}, 10), 0);
  EXPECT_EQ(cost.rows_within(-5, {}, 10), 0);
  EXPECT_EQ(cost.rows_within(10, {}, 10), 0) << "the fixed part is gone";
  EXPECT_GT((StepCost{10, 0, 0}).rows_within(11, {}, 10), 1 << 20) << "rows that cost nothing";
}

TEST(StepCost, SmallSizesAreExactAndLargeOnesTwoToEachPowerOfTwo) {
  EXPECT_EQ(StepCost::size_of(0), 0);
  for (int size = 0; size < StepCost::kSizes; ++size) {
    const int64_t first = StepCost::first_of(size);
    EXPECT_EQ(StepCost::size_of(first), size);
    EXPECT_EQ(StepCost::size_of(first - 1), std::max(0, size - 1));
  }
  for (int64_t n = 1; n <= 16; ++n) EXPECT_EQ(StepCost::size_of(n), n - 1);
  EXPECT_EQ(StepCost::size_of(17), 16);
  EXPECT_EQ(StepCost::size_of(23), 16);
  EXPECT_EQ(StepCost::first_of(StepCost::size_of(30)), 24);
  EXPECT_EQ(StepCost::first_of(StepCost::size_of(40)), 32);
  EXPECT_EQ(StepCost::size_of(int64_t{1} << 40), StepCost::kSizes - 1);
}

TEST(StepTimer, GuessesBeforeItSawTwoSizes) {
  StepTimer timer;
  EXPECT_EQ(timer.cost().step_ms(shape_of(0, 1)), 0);
  for (int i = 0; i < 50; ++i) timer.add(shape_of(i, 3), 30);
  EXPECT_FALSE(timer.cost().measured());
  EXPECT_DOUBLE_EQ(timer.cost().step_ms(shape_of(50, 3)), 30);
  EXPECT_DOUBLE_EQ(timer.cost().step_ms(shape_of(50, 1)), 20);
  EXPECT_DOUBLE_EQ(timer.cost().step_ms(shape_of(50, 5)), 40) << "a quarter for each further row";
  timer.add(shape_of(0, 100), 120);
  EXPECT_TRUE(timer.cost().measured());
  EXPECT_NEAR(timer.cost().step_ms(shape_of(0, 100)), 120, 1);
}

TEST(StepTimer, KnowsWhichSizesAreDue) {
  StepTimer timer;
  EXPECT_FALSE(timer.has_seen(4));
  EXPECT_FALSE(timer.is_due(4)) << "there is nothing to compare it with";
  timer.add(shape_of(0, 4), 20);
  EXPECT_TRUE(timer.has_seen(4));
  EXPECT_FALSE(timer.has_seen(3));
  EXPECT_FALSE(timer.is_due(4));
  EXPECT_TRUE(timer.is_due(3));
  timer.add(shape_of(0, 5), 21);
  EXPECT_TRUE(timer.is_due(4)) << "one step is not enough";
  timer.add(shape_of(0, 4), 20);
  for (int i = 0; i < 8; ++i) {
    EXPECT_FALSE(timer.is_due(4)) << i;
    timer.add(shape_of(0, 5), 21);
  }
  EXPECT_TRUE(timer.is_due(4)) << "two are, for a while";
  for (int i = 0; i < 4; ++i) timer.add(shape_of(0, 4), 20);
  for (int i = 0; i < 31; ++i) {
    timer.add(shape_of(0, 5), 21);
    EXPECT_FALSE(timer.is_due(4)) << i;
  }
  timer.add(shape_of(0, 5), 21);
  EXPECT_TRUE(timer.is_due(4));
}

// A step of a new size that is slow because its memory is cold.
TEST(StepTimer, AColdFirstStepChangesLittle) {
  StepTimer timer;
  for (int i = 0; i < 10; ++i) {
    timer.add(shape_of(0, 1), 7.5);
    timer.add(shape_of(0, 2), 7.6);
  }
  timer.add(shape_of(0, 3), 15);
  EXPECT_NEAR(timer.cost().step_ms(shape_of(0, 2)), 7.6, 0.1);
  EXPECT_LT(timer.cost().step_ms(shape_of(0, 3)), 9.5);
  EXPECT_LT(timer.cost().step_ms(shape_of(0, 4)), 11);
}

TEST(StepTimer, TheFirstFitTrustsStepsThatWereHeldUpLess) {
  StepTimer timer;
  for (int i = 0; i < 16; ++i) timer.add(shape_of(0, 1), i % 4 == 3 ? 60 : 20);
  ASSERT_FALSE(timer.cost().measured());
  timer.add(shape_of(0, 100), 120);
  EXPECT_NEAR(timer.cost().sum_ms(shape_of(0, 1)), 20, 0.7);
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

// Each fit goes on from the one before, so it comes to know which steps are the odd ones.
TEST(StepTimer, EveryOtherStepThatTakesTwiceAsLongMattersLittle) {
  const StepCost cost{.fixed_ms = 40, .row_ms = 1.5, .context_ms = 0.4};
  StepTimer timer;
  Rng rng(6);
  for (int i = 0; i < 600; ++i) {
    const StepShape shape =
        shape_of(static_cast<int64_t>(rng.below(2000)), static_cast<int64_t>(1) << rng.below(9));
    timer.add(shape, true_ms(cost, shape) * (rng.below(2) == 0 ? 2 : 1));
  }
  for (const int64_t n : {1, 8, 64, 256}) expect_close(timer.cost(), cost, shape_of(500, n), 0.165);
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
    EXPECT_GE(timer.cost().reach_ms, 0);
    EXPECT_GT(timer.cost().step_ms(shape_of(4000, 50)), 0);
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

// Decoding sequences read their keys for one row each, a prompt's rows share them.
TEST(StepTimer, FindsWhatReadingTheContextCosts) {
  const StepCost cost{.fixed_ms = 6, .row_ms = 0.5, .context_ms = 0.2, .reach_ms = 0.4};
  StepTimer timer;
  Rng rng(8);
  for (int i = 0; i < 600; ++i) {
    StepShape shape;
    for (int k = 0; k < 4; ++k) shape = shape + shape_of(static_cast<int64_t>(rng.below(2000)), 1);
    if (i % 3 != 0) {
      shape = shape + shape_of(static_cast<int64_t>(rng.below(8000)),
                               1 + static_cast<int64_t>(rng.below(16)));
    }
    timer.add(shape, true_ms(cost, shape) * (0.97 + 0.06 * rng.uniform()));
  }
  EXPECT_NEAR(timer.cost().reach_ms, 0.4, 0.1);
  EXPECT_NEAR(timer.cost().context_ms, 0.2, 0.04);
}

// Drafts have logits in each row, prompts at their end.
TEST(StepTimer, FindsWhatOutputsCost) {
  const StepCost cost{.fixed_ms = 10, .row_ms = 0.5, .output_ms = 0.4};
  StepTimer timer;
  Rng rng(9);
  for (int i = 0; i < 600; ++i) {
    const int64_t n = 1 + static_cast<int64_t>(rng.below(9));
    const auto first = static_cast<int64_t>(rng.below(2000));
    const StepShape shape = i % 4 == 0 ? shape_of(first, n * 20) : StepShape::of(first, n, n);
    timer.add(shape, true_ms(cost, shape) * (0.97 + 0.06 * rng.uniform()));
  }
  EXPECT_NEAR(timer.cost().output_ms, 0.4, 0.1);
  EXPECT_NEAR(timer.cost().row_ms, 0.5, 0.05);
}

// One stream after its prompt: each step has one output, which cannot be told from the fixed part.
TEST(StepTimer, DoesNotTakeTheFixedPartForTheCostOfAnOutput) {
  const StepCost cost{.fixed_ms = 10, .row_ms = 0.5};
  StepTimer timer;
  Rng rng(10);
  for (int i = 0; i < 100; ++i) {
    const StepShape shape = i == 0 ? StepShape::of(0, 90, 1) : StepShape::of(90 + i, 1, 1);
    timer.add(shape, true_ms(cost, shape) * (0.95 + 0.1 * rng.uniform()));
  }
  EXPECT_LT(timer.cost().output_ms, 0.1);
  EXPECT_NEAR(timer.cost().step_ms(StepShape::of(90, 5, 5)), 12.5, 1.5);
}

// A machine whose kernels take 12 rows well and 16 badly, as measured.
class TiledMachine {
 public:
  double ms(const StepShape& shape) const {
    return true_ms(cost_, shape) * (shape.n_rows >= 16 && shape.n_rows < 24 ? factor : 1);
  }
  void run(int64_t n_rows, int n_steps) {
    for (int i = 0; i < n_steps; ++i) timer.add(shape_of(0, n_rows), ms(shape_of(0, n_rows)));
  }
  double factor = 1.5;
  StepTimer timer;

 private:
  StepCost cost_{.fixed_ms = 6, .row_ms = 0.5, .context_ms = 0.2};
};

TEST(StepTimer, KnowsThatSomeSizesTakeLonger) {
  TiledMachine machine;
  for (int64_t n : {1, 4, 8, 12, 16, 32, 64, 128, 512}) machine.run(n, 20);
  machine.run(4, 30);
  const StepCost& cost = machine.timer.cost();
  for (int64_t n : {4, 8, 12, 16, 32, 512}) {
    const StepShape shape = shape_of(0, n);
    EXPECT_NEAR(cost.step_ms(shape) / machine.ms(shape), 1, 0.03) << n;
  }
  const double ms = machine.ms(shape_of(0, 12)) * 1.2;
  EXPECT_EQ(cost.rows_within(ms, shape_of(0, 4), 0), 11) << "16 rows would fit the sum";
}

TEST(StepTimer, TheFirstStepsOfASizeSayLittleOfIt) {
  TiledMachine machine;
  machine.factor = 1;
  for (int64_t n : {1, 4, 8, 32, 64, 128, 512}) machine.run(n, 20);
  for (int i = 0; i < 5; ++i) machine.timer.add(shape_of(0, 16), 100);
  EXPECT_EQ(machine.timer.cost().factor(16), 1);
  machine.run(16, 8);
  machine.run(4, 12);
  EXPECT_NEAR(machine.timer.cost().factor(16), 1, 0.1) << "the middle of 13";
}

TEST(StepTimer, ASizeThatSeemedDearIsTriedAgain) {
  TiledMachine machine;
  for (int64_t n : {4, 8, 16, 32, 512}) machine.run(n, 20);
  machine.run(4, 1800);
  EXPECT_GT(machine.timer.cost().factor(16), 1.2);
  EXPECT_LT(machine.timer.cost().factor(4), 1);
  machine.run(4, 400);
  EXPECT_EQ(machine.timer.cost().factor(16), 1);
  EXPECT_EQ(machine.timer.cost().factor(512), 1);
  machine.run(16, 5);
  EXPECT_EQ(machine.timer.cost().factor(16), 1);
  machine.run(16, 1);
  EXPECT_GT(machine.timer.cost().factor(16), 1.2) << "and it is as dear as before";
  machine.run(16, 3000);
  EXPECT_NE(machine.timer.cost().factor(4), 1) << "smaller ones are kept: streams alone";
}

}  // namespace
}  // namespace ruv
