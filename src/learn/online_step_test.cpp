// What one feedback changes.
#include "learn/online_step.h"

#include <cmath>

#include "learn/test_learn.h"

namespace ruv::online_step_test {
namespace {

class OnlineStepTest : public testing::Test {
 protected:
  OnlineStepTest() {
    GradientOptions options;
    options.max_rows = 24;
    model_ = *GradientModel<float>::create(tiny_model(), options);
  }
  OnlineLearner learner(const StepNumbers& numbers) {
    return *OnlineLearner::create(*model_, numbers);
  }
  double loss(const LearnState& state, const JudgedText& text) {
    model_->put(state.numbers);
    return *model_->loss(text) / static_cast<double>(text.n_judged());
  }
  static Judgement correction(int32_t seed, const std::string& task = {}) {
    return {.text = tiny_text(seed), .task = task};
  }
  static Judgement rated(int32_t seed, double rating) {
    return {.text = tiny_text(seed), .rating = rating};
  }

  std::unique_ptr<GradientModel<float>> model_;
};

TEST_F(OnlineStepTest, ACorrectionBecomesLikelier) {
  OnlineLearner online = learner({});
  LearnState state = online.initial_state();
  const double before = loss(state, tiny_text(1));
  for (uint64_t i = 1; i <= 20; ++i) {
    const OnlineResult result = *online.step(state, i, correction(1), nullptr);
    EXPECT_EQ(result.counts, 1);
    EXPECT_NEAR(result.loss_after, loss(state, tiny_text(1)), 1e-9);
  }
  EXPECT_LT(loss(state, tiny_text(1)), before - 0.05);
  EXPECT_EQ(state.n_steps, 20U);
}

TEST_F(OnlineStepTest, ARatingCountsLessTheMeanOfThoseBefore) {
  OnlineLearner online = learner({});
  LearnState state = online.initial_state();
  EXPECT_EQ(online.step(state, 1, rated(1, 1), nullptr)->counts, 1);
  EXPECT_EQ(online.step(state, 2, rated(2, 1), nullptr)->counts, 0);
  EXPECT_EQ(online.step(state, 3, rated(3, -1), nullptr)->counts, -2);
  EXPECT_NEAR(online.step(state, 4, rated(4, 1), nullptr)->counts, 1 - 1.0 / 3, 1e-12);
  EXPECT_EQ(state.mean_reward, 0.5);
  EXPECT_TRUE(state.kept.empty());
}

TEST_F(OnlineStepTest, BlameMakesAnAnswerLessLikely) {
  OnlineLearner online = learner({});
  LearnState state = online.initial_state();
  ASSERT_TRUE(online.step(state, 1, rated(1, 1), nullptr));
  const double before = loss(state, tiny_text(2));
  for (uint64_t i = 2; i < 12; ++i) ASSERT_TRUE(online.step(state, i, rated(2, -1), nullptr));
  EXPECT_GT(loss(state, tiny_text(2)), before + 1e-4);
}

// The first step of Adam has the size of the rate, whatever the gradient; the clip is of the
// gradient and shows in the moments.
TEST_F(OnlineStepTest, GradientsAreCutToTheGreatestNorm) {
  for (const double greatest : {0.0, 1e-3}) {
    OnlineLearner online = learner({.greatest_norm = greatest});
    LearnState state = online.initial_state();
    const OnlineResult result = *online.step(state, 1, correction(1), nullptr);
    double norm = 0;
    for (const float m : state.first) norm += double{m} * double{m} / 0.01;  // (1 - momentum)²
    EXPECT_NEAR(std::sqrt(norm), greatest > 0 ? greatest : result.gradient_norm,
                1e-4 * result.gradient_norm);
    EXPECT_GT(result.gradient_norm, 1e-3);
  }
}

TEST_F(OnlineStepTest, ATaskLeavesAnAnchorThatHoldsItsNumbers) {
  std::vector<double> away;
  for (const double lambda : {1e-6, 1e6}) {
    OnlineLearner online = learner({.lambda = lambda, .replay_share = 0});
    LearnState state = online.initial_state();
    uint64_t number = 0;
    for (int i = 0; i < 5; ++i)
      ASSERT_TRUE(online.step(state, ++number, correction(1, "a"), nullptr));
    EXPECT_TRUE(state.anchors.empty());
    const std::vector<float> left = state.numbers;
    for (int i = 0; i < 5; ++i)
      ASSERT_TRUE(online.step(state, ++number, correction(2, "b"), nullptr));
    ASSERT_EQ(state.anchors.size(), 1U);
    EXPECT_EQ(state.anchors[0].task, "a");
    EXPECT_EQ(state.anchors[0].numbers, left);
    EXPECT_EQ(state.n_fisher, 5U);
    double sum = 0;
    for (size_t i = 0; i < left.size(); ++i) {
      sum +=
          double{state.anchors[0].fisher[i]} * std::abs(double{state.numbers[i]} - double{left[i]});
    }
    away.push_back(sum);
  }
  EXPECT_LT(away[1], away[0] * 1e-2);
}

TEST_F(OnlineStepTest, AShareOfCorrectionsIsKept) {
  OnlineLearner online = learner({.replay_share = 0.25});
  LearnState state = online.initial_state();
  EXPECT_FALSE(online.next_replay(state));
  for (uint64_t i = 1; i <= 12; ++i) ASSERT_TRUE(online.step(state, i, correction(1), nullptr));
  EXPECT_EQ(state.kept, (std::vector<uint64_t>{4, 8, 12}));
  EXPECT_TRUE(online.next_replay(state));
}

// On the rehearsed text the adapter changes less than without it.
TEST_F(OnlineStepTest, RehearsedTextsStayAsTheyAre) {
  std::vector<double> divergences;
  for (const double rehearsal : {0.0, 5.0}) {
    OnlineLearner online =
        *OnlineLearner::create(*model_, {.rate = 2e-2, .rehearsal = rehearsal}, {tiny_text(7)});
    LearnState state = online.initial_state();
    for (uint64_t i = 1; i <= 60; ++i) ASSERT_TRUE(online.step(state, i, correction(1), nullptr));
    const std::vector<float> base = model_->rows(tiny_text(7), Beside::nothing, true)->logits;
    model_->put(state.numbers);
    divergences.push_back(*model_->add_divergence(tiny_text(7), base, 1));
  }
  EXPECT_GT(divergences[0], 0);
  EXPECT_LT(divergences[1], divergences[0] / 2);
}

TEST_F(OnlineStepTest, WhatFailsChangesNothing) {
  OnlineLearner online = learner({});
  LearnState state = online.initial_state();
  ASSERT_TRUE(online.step(state, 1, correction(1), nullptr));
  const LearnState before = state;
  Judgement wrong = correction(1);
  wrong.text.tokens[3] = 1 << 20;
  EXPECT_FALSE(online.step(state, 2, wrong, nullptr));
  EXPECT_EQ(state, before);
}

TEST_F(OnlineStepTest, NumbersThatMakeNoSenseAreRefused) {
  for (const StepNumbers& numbers :
       {StepNumbers{.rate = 0}, StepNumbers{.rate = NAN}, StepNumbers{.rating_share = -1},
        StepNumbers{.momentum = 1}, StepNumbers{.greatest_norm = -1}, StepNumbers{.lambda = -1},
        StepNumbers{.fisher_decay = 1.5}, StepNumbers{.max_anchors = 0},
        StepNumbers{.replay_share = 2}, StepNumbers{.max_kept = 0}, StepNumbers{.rehearsal = -1}}) {
    EXPECT_EQ(check(numbers).code(), Code::invalid);
  }
  EXPECT_TRUE(check(StepNumbers{}).ok());
}

TEST_F(OnlineStepTest, AStateIsReadAsItWasWritten) {
  OnlineLearner online = learner({.lambda = 1, .replay_share = 1});
  LearnState state = online.initial_state();
  ASSERT_TRUE(online.step(state, 1, correction(1, "a"), nullptr));
  ASSERT_TRUE(online.step(state, 2, correction(2, "b"), nullptr));
  const StateFit fit{7, state.numbers.size()};
  const std::vector<std::byte> bytes = state_bytes(state, fit);
  EXPECT_EQ(*parse_state(bytes, fit, "state"), state);
  EXPECT_EQ(parse_state(bytes, {8, fit.n_numbers}, "state").error().code(), Code::invalid);
  EXPECT_EQ(parse_state(bytes, {7, fit.n_numbers + 1}, "state").error().code(), Code::invalid);
  for (size_t n = 0; n < bytes.size(); n += bytes.size() / 50) {
    EXPECT_EQ(parse_state(Bytes(bytes).first(n), fit, "state").error().code(), Code::corrupt) << n;
    std::vector<std::byte> changed = bytes;
    changed[n] ^= std::byte{4};
    EXPECT_EQ(parse_state(changed, fit, "state").error().code(), Code::corrupt) << n;
  }
}

}  // namespace
}  // namespace ruv::online_step_test
