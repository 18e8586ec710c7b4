// What a task leaves and how later steps are held to it.
#include "learn/weight_anchor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace ruv::weight_anchor_test {
namespace {

// (lambda / 2) Σ F̂ (w - w*)², which pulls go down on and merged anchors keep.
double anchor_penalty(std::span<const float> numbers, std::span<const TaskAnchor> anchors,
                      double lambda) {
  double sum = 0;
  for (const TaskAnchor& anchor : anchors) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double away = double{numbers[i]} - double{anchor.numbers[i]};
      sum += double{anchor.fisher[i]} * away * away;
    }
  }
  return lambda / 2 * sum;
}

TEST(WeightAnchor, OnlineFisherIsADecayingMeanOfSquares) {
  std::vector<float> fisher = {0, 0};
  const std::vector<float> first = {2, -1}, second = {0, 3};
  add_to_fisher(fisher, first, 0.9);
  EXPECT_FLOAT_EQ(fisher[0], 0.4F);
  EXPECT_FLOAT_EQ(fisher[1], 0.1F);
  add_to_fisher(fisher, second, 0.9);
  EXPECT_FLOAT_EQ(fisher[0], 0.36F);
  EXPECT_FLOAT_EQ(fisher[1], 0.99F);
}

// One divisor for all would leave the group of small numbers without a hold.
TEST(WeightAnchor, EachGroupHasAMeanOfOne) {
  const std::vector<float> fisher = {1e-9F, 3e-9F, 2, 4, 6, 0, 0};
  const std::vector<int64_t> groups = {2, 3, 2};
  const std::vector<float> expected = {0.5F, 1.5F, 0.5F, 1, 1.5F, 0, 0};
  const std::vector<float> result = normalised_fisher(fisher, groups);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_FLOAT_EQ(result[i], expected[i]) << i;
  // What the gradients are multiplied by, and so the scale of the loss, changes nothing.
  std::vector<float> scaled = fisher;
  for (float& f : scaled) f *= 1e4F;
  const std::vector<float> same = normalised_fisher(scaled, groups);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(same[i], result[i], 1e-6) << i;
}

TEST(WeightAnchor, AStepIsTheExactMinimumOfItsQuadratic) {
  const std::vector<TaskAnchor> anchors = {{"a", {1, -2}, {0.5F, 4}}, {"b", {3, 0}, {2, 0}}};
  constexpr double kRate = 0.1;
  for (const double lambda : {0.0, 1.0, 1e6}) {
    std::vector<float> numbers = {0.25F, 0.75F};
    const std::vector<float> before = numbers;
    pull_to_anchors(numbers, anchors, kRate, lambda);
    const auto objective = [&](std::vector<float> w) {
      double sum = kRate * anchor_penalty(w, anchors, lambda);
      for (size_t i = 0; i < w.size(); ++i)
        sum += std::pow(double{w[i]} - double{before[i]}, 2) / 2;
      return sum;
    };
    for (size_t i = 0; i < numbers.size(); ++i) {
      for (const float step : {-0.01F, 0.01F}) {
        std::vector<float> beside = numbers;
        beside[i] += step;
        EXPECT_LE(objective(numbers), objective(beside)) << lambda << " " << i;
      }
    }
    if (lambda == 0) {
      EXPECT_EQ(numbers, before);
    }
    if (lambda > 1) {
      EXPECT_NEAR(numbers[1], -2, 1e-3);
    }
  }
}

TEST(WeightAnchor, MergedAnchorsHaveTheSumOfTheirPenalties) {
  const std::vector<TaskAnchor> anchors = {
      {"a", {1, -2}, {0.5F, 4}}, {"b", {3, 0}, {2, 0}}, {"c", {0, 1}, {1, 1}}};
  std::vector<TaskAnchor> merged = anchors;
  merge_oldest(merged, 2);
  ASSERT_EQ(merged.size(), 2U);
  EXPECT_EQ(merged[0].task, "a+b");
  EXPECT_EQ(merged[1].task, "c");
  const std::vector<float> here = {0.3F, -0.7F}, there = {2, 5};
  const double whole = anchor_penalty(here, anchors, 3) - anchor_penalty(there, anchors, 3);
  const double parts = anchor_penalty(here, merged, 3) - anchor_penalty(there, merged, 3);
  EXPECT_NEAR(whole, parts, 1e-4);
  merge_oldest(merged, 1);
  EXPECT_NEAR(whole, anchor_penalty(here, merged, 3) - anchor_penalty(there, merged, 3), 1e-4);
}

}  // namespace
}  // namespace ruv::weight_anchor_test
