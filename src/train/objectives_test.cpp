// Losses of all objectives: their derivatives beside differences, and what is known of their
// values.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/rng.h"
#include "train/contrastive_loss.h"
#include "train/distill_loss.h"
#include "train/log_probs.h"
#include "train/policy_loss.h"
#include "train/preference_loss.h"

namespace ruv::objectives_test {
namespace {

constexpr double kMost = 1e-8;  // of a derivative's difference

// f'(x) by four values.
double slope_of(const std::function<double(double)>& f, double x) {
  constexpr double h = 1e-4;
  return (f(x - 2 * h) - 8 * f(x - h) + 8 * f(x + h) - f(x + 2 * h)) / (12 * h);
}

// A matrix of numbers with adjoints.
struct Rows {
  Rows(int64_t n, int64_t width, uint64_t seed)
      : values(static_cast<size_t>(n * width)), adjoints(values.size()), n_rows(n), n_cols(width) {
    Rng rng(seed);
    for (double& x : values) x = 4 * rng.uniform() - 2;
  }
  Adjoined<double> with_adjoints() { return {values.data(), adjoints.data(), n_rows, n_cols}; }
  Adjoined<double> alone() { return {values.data(), nullptr, n_rows, n_cols}; }
  // Compares the adjoints with differences of the loss.
  void expect_derivatives(const std::function<double()>& loss) {
    for (size_t i = 0; i < values.size(); ++i) {
      const double kept = values[i];
      const double slope = slope_of(
          [&](double x) {
            values[i] = x;
            return loss();
          },
          kept);
      values[i] = kept;
      EXPECT_NEAR(adjoints[i], slope, kMost) << i;
    }
  }

  std::vector<double> values, adjoints;
  int64_t n_rows, n_cols;
};

const std::vector<int32_t> kTokens = {2, kNoTarget, 0, 4};
const std::vector<float> kWeights = {0.5F, 1, 2, 0.25F};

TEST(CrossEntropy, DerivativesByWeights) {
  WorkerPool pool(2);
  Rows logits(4, 5, 1);
  cross_entropy(logits.with_adjoints(), {kTokens, kWeights}, 0.7, pool);
  logits.expect_derivatives([&] {
    return 0.7 * cross_entropy(logits.alone(), {kTokens, kWeights}, 0, pool);
  });
}

TEST(LogProbs, DerivativesByFactors) {
  WorkerPool pool(2);
  Rows logits(4, 5, 2);
  const std::vector<double> factors = {0.5, 3, -2, 0};
  add_log_prob_gradient(logits.with_adjoints(), kTokens, factors, pool);
  logits.expect_derivatives([&] {
    const auto logs = target_log_probs(logits.alone(), kTokens, pool);
    double sum = 0;
    for (size_t i = 0; i < logs.size(); ++i) sum += factors[i] * logs[i];
    return sum;
  });
  EXPECT_EQ(target_log_probs(logits.alone(), kTokens, pool)[1], 0);
}

TEST(DistillLoss, DerivativesAtSomeTemperatures) {
  WorkerPool pool(2);
  for (const double t : {0.5, 1.0, 3.0}) {
    Rows student(4, 5, 3), teacher(4, 5, 4);
    distill_loss(student.with_adjoints(), teacher.alone(), {kTokens, kWeights}, t, 0.7, pool);
    student.expect_derivatives([&] {
      return 0.7 * distill_loss(student.alone(), teacher.alone(), {kTokens, kWeights}, t, 0, pool);
    });
    EXPECT_NEAR(distill_loss(teacher.alone(), teacher.alone(), {kTokens}, t, 0, pool), 0, 1e-12);
  }
}

TEST(PreferenceLoss, DerivativesOfBoth) {
  for (const double smoothing : {0.0, 0.2}) {
    const DpoNumbers numbers{.beta = 0.3, .smoothing = smoothing};
    const PairLogProbs logs{-11, -9, -12, -8.5};
    const PairLoss found = dpo_loss(logs, numbers);
    const auto loss_at = [&](double chosen, double rejected) {
      return dpo_loss({chosen, rejected, -12, -8.5}, numbers).loss;
    };
    EXPECT_NEAR(found.by_chosen, slope_of([&](double x) { return loss_at(x, -9); }, -11), kMost);
    EXPECT_NEAR(found.by_rejected, slope_of([&](double x) { return loss_at(-11, x); }, -9), kMost);
  }
  EXPECT_NEAR(dpo_loss({-3, -4, -3, -4}, {}).loss, std::log(2.0), 1e-15);
  for (const double x : {-700.0, -2.0, 0.0, 3.0, 700.0}) {
    const PairLoss found = reward_loss(x, 1);
    EXPECT_NEAR(found.by_chosen, slope_of([](double y) { return reward_loss(y, 1).loss; }, x),
                1e-7);
    EXPECT_EQ(found.by_rejected, -found.by_chosen);
    EXPECT_TRUE(std::isfinite(found.loss));
  }
}

// Ratios inside and outside of what is clipped, on both sides.
TEST(PolicyLoss, DerivativesWhereClippedAndWhereNot) {
  const PolicyNumbers numbers{.clip = 0.2, .kl = 0.05};
  for (const double advantage : {-1.5, 2.0}) {
    for (const double now : {-2.0, -1.05, -0.9, 0.0}) {
      const TokenLoss found = grpo_loss({now, -1, -1.4}, advantage, numbers);
      const double slope = slope_of(
          [&](double x) {
            return grpo_loss({x, -1, -1.4}, advantage, numbers).loss;
          },
          now);
      EXPECT_NEAR(found.by_now, slope, kMost) << now << " " << advantage;
    }
  }
  EXPECT_EQ(clipped_policy_loss({0, -1, 0}, 1, 0.2).by_now, 0) << "far enough already";
  EXPECT_EQ(clipped_policy_loss({-1, -1, 0}, 2, 0.2).loss, -2);
}

TEST(PolicyLoss, AdvantagesAreThoseOfTheirDefinition) {
  const auto advantages = group_advantages(std::vector<double>{1, 2, 6});
  const double deviation = std::sqrt(7.0) + 1e-4;
  EXPECT_NEAR(advantages[0], -2 / deviation, 1e-12);
  EXPECT_NEAR(advantages[2], 3 / deviation, 1e-12);
  EXPECT_EQ(group_advantages(std::vector<double>{5}), std::vector<double>{0});
  EXPECT_EQ(group_advantages(std::vector<double>{5, 5}), (std::vector<double>{0, 0}));
  const std::vector<double> rewards = {0.1, -0.2, 1}, values = {0.5, 0.25, 0.75};
  const auto sums = token_advantages(rewards, values, {.gamma = 0.9, .lambda = 1});
  EXPECT_NEAR(sums[0], 0.1 + 0.9 * -0.2 + 0.81 * 1 - 0.5, 1e-12);
  const auto steps = token_advantages(rewards, values, {.gamma = 0.9, .lambda = 0});
  EXPECT_NEAR(steps[1], -0.2 + 0.9 * 0.75 - 0.25, 1e-12);
  EXPECT_NEAR(steps[2], 1 - 0.75, 1e-12);
}

TEST(ContrastiveLoss, DerivativesByEmbeddings) {
  Rows rows(4, 3, 7);
  const std::vector<int64_t> candidates = {1, 2, 3};
  const auto loss_with = [&](bool is_triplet, Embeddings& e) {
    if (is_triplet) return triplet_loss(e, {0, 1, 2}, 3, 0.7);
    return info_nce_loss(e, {0, 2, candidates}, 0.5, 0.7);
  };
  for (const bool is_triplet : {true, false}) {
    const auto loss = [&] {
      Embeddings e{3, rows.values, std::vector<double>(rows.values.size())};
      const double found = 0.7 * loss_with(is_triplet, e);
      if (rows.adjoints.empty()) rows.adjoints = e.gradients;
      return found;
    };
    rows.adjoints.clear();
    loss();
    rows.expect_derivatives(loss);
  }
  Embeddings same{2, {1, 0, 2, 0, -1, 0}, std::vector<double>(6)};
  EXPECT_EQ(triplet_loss(same, {0, 1, 2}, 0.5, 1), 0) << "apart by more than the margin";
  EXPECT_EQ(same.gradients, std::vector<double>(6));
}

}  // namespace
}  // namespace ruv::objectives_test
