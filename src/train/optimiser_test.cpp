// Schedules and optimisers beside their formulas, losses and orders.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

#include "base/rng.h"
#include "train/optimiser.h"
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

// A matrix (n_out, n_in) of random numbers as a parameter.
struct MuonCase {
  MuonCase(int64_t n_out, int64_t n_in) : matrix(shape(n_out, n_in)) {
    Rng rng(static_cast<uint64_t>(n_out * 131 + n_in));
    for (int64_t i = 0; i < n_out * n_in; ++i) {
      values.push_back(rng.uniform() - 0.5);
      gradient.push_back(rng.uniform() - 0.5);
    }
  }
  static Weight shape(int64_t n_out, int64_t n_in) {
    Weight weight;
    weight.n_out = n_out;
    weight.n_in = n_in;
    return weight;
  }
  Parameter<double> parameter() { return {"blk.0.ffn_up.weight", values, gradient, &matrix}; }

  TrainMatrix<double> matrix;
  std::vector<double> values, gradient;
};

// Products of the rows of the update with each other, where these are fewer than the columns: of
// orthogonal rows of length 1 they would be 1 and 0.
TEST(Muon, SingularValuesOfAnUpdateAreNearlyOne) {
  for (const auto& shape : {std::pair(6, 40), std::pair(40, 6), std::pair(9, 9)}) {
    const int64_t n_out = shape.first;
    const int64_t n_in = shape.second;
    WorkerPool pool(2);
    MuonCase test(n_out, n_in);
    const std::vector<double> before = test.values;
    std::vector<double> momentum(before.size(), 0);
    // Thirty iterations end where the polynomial has its orbit: between 0.7 and 1.2.
    Muon<double> muon({.momentum = 0.9, .n_iterations = 30, .size = 1}, pool, portable_kernels());
    ASSERT_TRUE(Muon<double>::suits(test.parameter()));
    muon.step(test.parameter(), momentum, 2, {.rate = 0.5, .kept = 0.75});
    const int64_t n_rows = std::min(n_out, n_in);
    const int64_t n_cols = std::max(n_out, n_in);
    const double unit = 0.5 * std::sqrt(static_cast<double>(n_cols));
    const auto update = [&](int64_t row, int64_t col) {
      const auto at = static_cast<size_t>(n_out > n_in ? col * n_in + row : row * n_in + col);
      return (0.75 * before[at] - test.values[at]) / unit;
    };
    for (int64_t a = 0; a < n_rows; ++a) {
      double along = 0;
      for (int64_t c = 0; c < n_cols; ++c) {
        const auto at = static_cast<size_t>(n_out > n_in ? c * n_in + a : a * n_in + c);
        EXPECT_DOUBLE_EQ(momentum[at], 2 * test.gradient[at]);
        along += update(a, c) * test.gradient[at];
      }
      EXPECT_GT(along, 0) << "an update goes along its gradient";
      double squares = 0;
      for (int64_t c = 0; c < n_cols; ++c) squares += update(a, c) * update(a, c);
      EXPECT_GT(squares, 0.4);
      EXPECT_LT(squares, 1.5);
    }
  }
}

// Once each: the momentum of a second step has what is left of the first.
TEST(Muon, GradientsAreAddedToTheMomentum) {
  WorkerPool pool(1);
  MuonCase test(3, 4);
  std::vector<double> momentum(12, 1);
  Muon<double> muon({.momentum = 0.5}, pool, portable_kernels());
  muon.step(test.parameter(), momentum, 3, {.rate = 0, .kept = 1});
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_DOUBLE_EQ(momentum[i], 0.5 + 3 * test.gradient[i]);
  }
}

TEST(Muon, AGradientOfZerosChangesNothing) {
  WorkerPool pool(1);
  MuonCase test(3, 4);
  std::ranges::fill(test.gradient, 0);
  const std::vector<double> before = test.values;
  std::vector<double> momentum(12, 0);
  Muon<double>({}, pool, portable_kernels()).step(test.parameter(), momentum, 1, {.rate = 1});
  EXPECT_EQ(test.values, before);
}

TEST(Muon, IsForMatricesOfLayers) {
  MuonCase test(3, 4);
  MuonCase row(1, 4);
  Parameter<double> embedding = test.parameter();
  embedding.name = "token_embd.weight";
  Parameter<double> adapter = test.parameter();
  adapter.name = "blk.0.attn_q.weight.lora_a";
  Parameter<double> vector = test.parameter();
  vector.matrix = nullptr;
  EXPECT_FALSE(Muon<double>::suits(embedding));
  EXPECT_FALSE(Muon<double>::suits(adapter));
  EXPECT_FALSE(Muon<double>::suits(vector));
  EXPECT_FALSE(Muon<double>::suits(row.parameter()));
}

// Others are AdamW's, whose second moment Muon's matrices do not have.
TEST(Optimiser, MatricesOfLayersAreMuonsAndOthersAdams) {
  WorkerPool pool(1);
  std::vector<float> values[2] = {std::vector<float>(12, 1.0F), std::vector<float>(12, 1.0F)};
  std::vector<float> gradient = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13};
  TrainMatrix<float> matrix(MuonCase::shape(3, 4));
  const Parameter<float> parameters[] = {{"blk.0.attn_q.weight", values[0], gradient, &matrix},
                                         {"output.weight", values[1], gradient, &matrix}};
  Optimiser optimiser = *Optimiser::create(parameters, {.muon = MuonNumbers()}, pool);
  EXPECT_EQ(optimiser.second(0).size(), 0);
  EXPECT_EQ(optimiser.second(1).size(), 12);
  EXPECT_EQ(optimiser.n_bytes(), 3 * 12 * 4);
  optimiser.step(parameters, 1, 0.01, 1);
  std::vector<float> expected(12, 1.0F);
  const Parameter<float> alone[] = {{"output.weight", expected, gradient, &matrix}};
  Adam<float> adam = *Adam<float>::create(alone, {});
  adam.step(alone, 1, 0.01, 1, pool);
  EXPECT_EQ(values[1], expected);
  EXPECT_NE(values[0], expected);
}

TEST(Muon, NumbersThatMakeNoSenseAreRefused) {
  EXPECT_EQ(check(MuonNumbers{.momentum = 1}).code(), Code::invalid);
  EXPECT_EQ(check(MuonNumbers{.n_iterations = 0}).code(), Code::invalid);
  EXPECT_EQ(check(MuonNumbers{.size = 0}).code(), Code::invalid);
  EXPECT_EQ(check(OptimiserNumbers{.muon = MuonNumbers{.size = NAN}}).code(), Code::invalid);
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
