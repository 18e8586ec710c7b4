// Schedules beside their formulas, AdamW beside numbers of PyTorch, losses and orders.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

#include "train/adam.h"
#include "train/rate_schedule.h"
#include "train/train_sequence.h"

namespace ruv::optimiser_test {
namespace {

TEST(RateSchedule, ShapesAfterAWarmUp) {
  RateSchedule s{.peak = 2, .n_steps = 12, .n_warmup = 4, .last = 0.1, .decay = 0.5, .every = 3};
  for (const RateShape shape : {RateShape::constant, RateShape::linear, RateShape::cosine,
                                RateShape::exponential, RateShape::steps}) {
    s.shape = shape;
    ASSERT_TRUE(check(s).ok());
    for (int step = 0; step < 4; ++step) EXPECT_EQ(rate_at(s, step), 2 * (step + 1) / 4.0);
    EXPECT_EQ(rate_at(s, 4), 2);
  }
  for (int step = 4; step < 20; ++step) {
    const double p = std::min(1.0, (step - 4) / 8.0);
    const auto at = [&](RateShape shape) {
      s.shape = shape;
      return rate_at(s, step);
    };
    EXPECT_EQ(at(RateShape::constant), 2);
    EXPECT_NEAR(at(RateShape::linear), 2 * (1 - 0.9 * p), 1e-14);
    EXPECT_NEAR(at(RateShape::cosine), 2 * (0.1 + 0.9 * (1 + std::cos(std::numbers::pi * p)) / 2),
                1e-14);
    EXPECT_NEAR(at(RateShape::exponential), 2 * std::pow(0.5, step - 4), 1e-14);
    EXPECT_NEAR(at(RateShape::steps), 2 * std::pow(0.5, (step - 4) / 3), 1e-14);
  }
}

// What torch.optim.lr_scheduler.OneCycleLR(max_lr=2, total_steps=10, pct_start=0.4) gives.
// Two steps of rise, four at the peak, four of fall.
TEST(RateSchedule, ATrapezoidFallsInItsLastSteps) {
  const RateSchedule s{.shape = RateShape::trapezoid,
                       .peak = 4,
                       .n_steps = 10,
                       .n_warmup = 2,
                       .last = 0.5,
                       .fall = 0.5};
  ASSERT_TRUE(check(s).ok());
  const double expected[] = {2, 4, 4, 4, 4, 4, 4, 3.5, 3, 2.5, 2, 2};
  for (int step = 0; step < 12; ++step)
    EXPECT_NEAR(rate_at(s, step), expected[step], 1e-14) << step;
}

TEST(RateSchedule, OneCycleIsThatOfPyTorch) {
  const RateSchedule s{.shape = RateShape::one_cycle, .peak = 2, .n_steps = 10, .n_warmup = 4};
  const auto between = [](double a, double b, double p) {
    return b + (a - b) * (1 + std::cos(std::numbers::pi * p)) / 2;
  };
  for (int step = 0; step < 10; ++step) {
    const double expected =
        step <= 3 ? between(2.0 / 25, 2, step / 3.0) : between(2, 2.0 / 25e4, (step - 3) / 6.0);
    EXPECT_NEAR(rate_at(s, step), expected, 1e-14) << step;
  }
  EXPECT_NEAR(rate_at(s, 50), 2.0 / 25e4, 1e-14);
}

TEST(RateSchedule, NumbersThatMakeNoSenseAreRefused) {
  EXPECT_EQ(check(RateSchedule{.peak = -1}).code(), Code::invalid);
  EXPECT_EQ(check(RateSchedule{.peak = NAN}).code(), Code::invalid);
  EXPECT_EQ(check(RateSchedule{.n_warmup = -1}).code(), Code::invalid);
  EXPECT_EQ(check(RateSchedule{.shape = RateShape::linear}).code(), Code::invalid);
  EXPECT_EQ(check(RateSchedule{.shape = RateShape::trapezoid}).code(), Code::invalid);
  for (const double fall : {0.0, 1.5, static_cast<double>(NAN)}) {
    const RateSchedule s{.shape = RateShape::trapezoid, .n_steps = 9, .fall = fall};
    EXPECT_EQ(check(s).code(), Code::invalid) << fall;
  }
  EXPECT_EQ(check(RateSchedule{.shape = RateShape::one_cycle, .n_steps = 9, .n_warmup = 1}).code(),
            Code::invalid);
  EXPECT_EQ(check(RateSchedule{.last = 2}).code(), Code::invalid);
  EXPECT_EQ(check(RateSchedule{.decay = 0}).code(), Code::invalid);
  EXPECT_EQ(check(RateSchedule{.every = 0}).code(), Code::invalid);
}

// The recurrence of the paper, written out. Vectors do not decay.
TEST(Adam, StepsAreThoseOfTheRecurrence) {
  WorkerPool pool(2);
  constexpr size_t kN = 5000;
  std::vector<double> values(kN), gradient(kN);
  TrainMatrix<double> matrix{Weight()};
  const Parameter<double> parameters[] = {
      {"matrix", {values.data(), 3000}, {gradient.data(), 3000}, &matrix},
      {"vector", std::span(values).subspan(3000), std::span(gradient).subspan(3000), nullptr}};
  const AdamNumbers numbers{.beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .weight_decay = 0.1};
  Adam<double> adam = *Adam<double>::create(parameters, numbers);
  std::vector<double> p(kN), m(kN), v(kN);
  for (size_t i = 0; i < kN; ++i) values[i] = p[i] = std::sin(static_cast<double>(i));
  for (int step = 1; step <= 3; ++step) {
    for (size_t i = 0; i < kN; ++i) gradient[i] = std::cos(static_cast<double>(i * 3) + step);
    adam.step(parameters, step, 0.01, 0.5, pool);
    for (size_t i = 0; i < kN; ++i) {
      const double g = 0.5 * gradient[i];
      if (i < 3000) p[i] -= 0.01 * 0.1 * p[i];
      m[i] = 0.8 * m[i] + 0.2 * g;
      v[i] = 0.95 * v[i] + 0.05 * g * g;
      const double unbiased = m[i] / (1 - std::pow(0.8, step));
      p[i] -= 0.01 * unbiased / (std::sqrt(v[i] / (1 - std::pow(0.95, step))) + 1e-6);
      ASSERT_NEAR(values[i], p[i], 1e-12) << i;
    }
  }
}

TEST(Adam, TheNormIsOfAllGradients) {
  std::vector<float> gradient(10001, 2.0F);
  const Parameter<float> parameters[] = {{"a", gradient, gradient}, {"b", gradient, gradient}};
  for (const int n_threads : {1, 3}) {
    WorkerPool pool(n_threads);
    EXPECT_DOUBLE_EQ(gradient_norm<float>(parameters, pool), std::sqrt(2 * 10001 * 4.0));
  }
}

TEST(Adam, NumbersThatMakeNoSenseAreRefused) {
  EXPECT_EQ(check(AdamNumbers{.beta1 = 1}).code(), Code::invalid);
  EXPECT_EQ(check(AdamNumbers{.beta2 = NAN}).code(), Code::invalid);
  EXPECT_EQ(check(AdamNumbers{.eps = 0}).code(), Code::invalid);
  EXPECT_EQ(check(AdamNumbers{.weight_decay = -1}).code(), Code::invalid);
}

TEST(TrainSequence, RowsAreThoseThatPredict) {
  const TrainSequence sequences[] = {{{5, 6, 7, 8, 9}, {0, 0, 1, 0, 0}}, {{1}}, {{2, 3, 4, 5}}};
  const auto batches = make_batches(sequences, {4, 10});
  ASSERT_TRUE(batches);
  ASSERT_EQ(batches->size(), 2U) << "the third needs three rows and there are two left";
  const Batch& first = (*batches)[0].rows.batch();
  EXPECT_EQ(first.tokens, (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(first.logit_rows, std::vector<int32_t>{1});
  EXPECT_EQ((*batches)[0].targets, std::vector<int32_t>{7});
  EXPECT_EQ((*batches)[1].targets, (std::vector<int32_t>{3, 4, 5}));
  EXPECT_EQ(sequences[0].n_targets(), 1);
}

TEST(TrainSequence, WhatABatchCannotHoldIsRefused) {
  const auto refuses = [](const TrainSequence& sequence) {
    const auto batches = make_batches({&sequence, 1}, {2, 10});
    return !batches && batches.error().code() == Code::invalid;
  };
  EXPECT_TRUE(refuses({{1, 2, 3, 4}}));
  EXPECT_TRUE(refuses({{1, 10}}));
  EXPECT_TRUE(refuses({{-1, 1}}));
  EXPECT_TRUE(refuses({{1, 2}, {1}}));
}

TEST(SequenceOrder, EachRoundHasAllInAnotherOrder) {
  SequenceOrder order(7, 3), again(7, 3);
  std::set<std::vector<size_t>> rounds;
  for (uint64_t round = 0; round < 3; ++round) {
    std::vector<size_t> of_round;
    for (uint64_t i = 0; i < 7; ++i) of_round.push_back(order.at(round * 7 + i));
    rounds.insert(of_round);
    EXPECT_EQ(std::set(of_round.begin(), of_round.end()).size(), 7U);
    EXPECT_EQ(again.at(round * 7 + 5), of_round[5]) << "asked for out of order";
  }
  EXPECT_EQ(rounds.size(), 3U);
}

TEST(TrainSequence, ATextIsCutWhereSequencesOverlapByOne) {
  const std::vector<int32_t> text = {1, 2, 3, 4, 5, 6};
  const std::vector<TrainSequence> parts = cut_text(text, 3);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[1].tokens, (std::vector<int32_t>{3, 4, 5}));
  EXPECT_EQ(parts[2].tokens, (std::vector<int32_t>{5, 6}));
}

}  // namespace
}  // namespace ruv::optimiser_test
