// An instance that has come to a limit of the gate still learns.
#include "learn/gated_step.h"

#include "learn/test_learn.h"

namespace ruv::gated_step_test {
namespace {

class GatedStepTest : public testing::Test {
 protected:
  GatedStepTest() {
    GradientOptions options;
    options.max_rows = 24;
    model_ = *GradientModel<float>::create(tiny_model(), options);
    online_.emplace(*OnlineLearner::create(*model_, {.rate = 1e-2}));
    gate_.emplace(*UpdateGate::create(*model_, {{tiny_text(101)}, {tiny_text(102)}}));
    state_ = online_->initial_state();
  }
  GatedStep step(uint64_t number, const UpdateLimits& limits) {
    const Judgement judgement{.text = tiny_text(static_cast<int32_t>(number))};
    auto made =
        GatedLearner{*model_, *online_, *gate_, limits}.step(state_, number, judgement, nullptr);
    EXPECT_TRUE(made) << made.error().message();
    return std::move(*made);
  }
  // Learns until the divergence from the base rises with each step, and returns it.
  double learn_to_a_limit() {
    double divergence = 0;
    for (uint64_t i = 1; i <= 12; ++i) {
      GatedStep made = step(i, loose_limits());
      EXPECT_EQ(made.share, 1);
      divergence = made.reading.divergence;
      state_ = std::move(made.state);
    }
    return divergence;
  }

  std::unique_ptr<GradientModel<float>> model_;
  std::optional<OnlineLearner> online_;
  std::optional<UpdateGate> gate_;
  LearnState state_;
};

TEST_F(GatedStepTest, AStepPastALimitIsTriedFromNearerNumbers) {
  UpdateLimits limits = loose_limits();
  limits.divergence = learn_to_a_limit();
  const std::vector<float> before = state_.numbers;
  const GatedStep made = step(13, limits);
  EXPECT_EQ(made.refusal, "");
  EXPECT_LT(made.share, 1);
  EXPECT_LE(made.reading.divergence, limits.divergence);
  EXPECT_LT(made.reading.own_after, made.reading.own_before);
  EXPECT_EQ(made.state.n_steps, state_.n_steps + 1);
  EXPECT_EQ(state_.numbers, before);
  EXPECT_EQ(model_->numbers(), made.state.numbers) << "what is written to files";
  EXPECT_EQ(step(13, limits).state.numbers, made.state.numbers) << "the same each time";
}

TEST_F(GatedStepTest, WhatIsFarOffIsRefusedAllTheSame) {
  UpdateLimits limits = loose_limits();
  limits.divergence = learn_to_a_limit() / 1000;
  const GatedStep made = step(13, limits);
  EXPECT_EQ(made.share, kPulledShares.back());
  EXPECT_NE(made.refusal.find("divergence"), std::string::npos);
}

// Being nearer to the base would not help.
TEST_F(GatedStepTest, AStepThatHarmsItsOwnFeedbackIsTriedOnce) {
  learn_to_a_limit();
  UpdateLimits limits = loose_limits();
  limits.own_rise = -1000;
  const GatedStep made = step(13, limits);
  EXPECT_EQ(made.share, 1);
  EXPECT_NE(made.refusal.find("own loss"), std::string::npos);
}

TEST_F(GatedStepTest, TheFirstStepHasNothingToBePulledFrom) {
  UpdateLimits limits = loose_limits();
  limits.divergence = 0;
  const GatedStep made = step(1, limits);
  EXPECT_EQ(made.share, 1);
  EXPECT_NE(made.refusal, "");
}

}  // namespace
}  // namespace ruv::gated_step_test
