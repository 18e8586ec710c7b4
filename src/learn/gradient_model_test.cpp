// Gradients of judged tokens beside differences, and the Fisher information beside its definition.
#include "learn/gradient_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "learn/weight_anchor.h"

namespace ruv::gradient_model_test {
namespace {

std::string golden(const std::string& name) {
  return RUV_SOURCE_DIR "/tests/golden/models/" + name + "/model.gguf";
}

GradientOptions small_options() {
  GradientOptions options;
  options.max_rows = 24;
  options.matrices = {"attn_q", "attn_v", "ffn_down"};
  return options;
}

// B begins with 0, at which the derivative by A is 0.
template <class T>
void put_numbers(GradientModel<T>& model) {
  std::vector<T> numbers = model.numbers();
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] += static_cast<T>(0.05 * std::sin(1.7 * static_cast<double>(i)));
  }
  model.put(numbers);
}

const JudgedText kText = {{3, 14, 15, 9, 2, 6, 5, 35}, {0, 0, 1, 0.5F, -2, 0, 1, 1}};
const JudgedText kOther = {{8, 9, 7, 9}, {0, 1, 1, 1}};

double slope_at(GradientModel<double>& model, const JudgedText& text, size_t at) {
  constexpr double kStep = 1e-3;
  const std::vector<double> kept = model.numbers();
  const auto loss_at = [&](double x) {
    std::vector<double> moved = kept;
    moved[at] += x;
    model.put(moved);
    return *model.loss(text);
  };
  const double slope =
      (loss_at(-2 * kStep) - 8 * loss_at(-kStep) + 8 * loss_at(kStep) - loss_at(2 * kStep)) /
      (12 * kStep);
  model.put(kept);
  return slope;
}

TEST(GradientModel, DerivativesAreThoseOfDifferences) {
  for (const char* const name : {"llama2", "qwen2", "gemma3"}) {
    const auto model = *GradientModel<double>::create(golden(name), small_options());
    put_numbers(*model);
    model->clear_gradient();
    const double loss = *model->add_gradient(kText, 1);
    EXPECT_NEAR(loss, *model->loss(kText), 1e-9);
    const std::vector<double> gradient = model->gradient();
    double greatest = 0;
    for (const double g : gradient) greatest = std::max(greatest, std::abs(g));
    ASSERT_GT(greatest, 0);
    for (size_t at = 0; at < gradient.size(); at += gradient.size() / 23) {
      EXPECT_NEAR(slope_at(*model, kText, at), gradient[at], 1e-6 * greatest) << name << " " << at;
    }
  }
}

TEST(GradientModel, TheDivergenceHasItsDerivative) {
  const auto model = *GradientModel<double>::create(golden("llama2"), small_options());
  put_numbers(*model);
  const std::vector<float> base = model->rows(kOther, Beside::nothing, true)->logits;
  model->clear_gradient();
  const double divergence = *model->add_divergence(kOther, base, 1);
  EXPECT_GT(divergence, 0);
  const std::vector<double> gradient = model->gradient();
  const std::vector<double> kept = model->numbers();
  double greatest = 0;
  for (const double g : gradient) greatest = std::max(greatest, std::abs(g));
  for (size_t at = 0; at < gradient.size(); at += gradient.size() / 11) {
    const auto divergence_at = [&](double x) {
      std::vector<double> moved = kept;
      moved[at] += x;
      model->put(moved);
      return *model->add_divergence(kOther, base, 0);
    };
    constexpr double kStep = 1e-3;
    const double slope = (divergence_at(-2 * kStep) - 8 * divergence_at(-kStep) +
                          8 * divergence_at(kStep) - divergence_at(2 * kStep)) /
                         (12 * kStep);
    EXPECT_NEAR(slope, gradient[at], 1e-6 * greatest) << at;
  }
}

// A step against the gradient makes praised tokens likelier and blamed ones less likely.
TEST(GradientModel, AStepGoesTheWayTheFeedbackSays) {
  const auto model = *GradientModel<float>::create(golden("llama2"), small_options());
  put_numbers(*model);
  const std::vector<float> before = model->numbers();
  for (const float weight : {1.0F, -1.0F}) {
    const JudgedText text = {{3, 14, 15, 9, 2}, {0, 0, weight, weight, weight}};
    model->put(before);
    const std::vector<double> at_first =
        model->rows(text, Beside::adapter, false)->log_probabilities;
    model->clear_gradient();
    ASSERT_TRUE(model->add_gradient(text, 1));
    std::vector<float> moved = before;
    const std::vector<float> gradient = model->gradient();
    for (size_t i = 0; i < moved.size(); ++i) moved[i] -= 0.05F * gradient[i];
    model->put(moved);
    const std::vector<double> after = model->rows(text, Beside::adapter, false)->log_probabilities;
    double change = 0;
    for (size_t i = 0; i < after.size(); ++i) change += after[i] - at_first[i];
    EXPECT_GT(static_cast<double>(weight) * change, 1e-4);
  }
}

// The diagonal by its definition: the mean over texts of squared slopes of the log-probability,
// each slope a difference in double; beside the online one, which with a decay of 1 - 1/n per text
// and corrected for its beginning is that mean. By group, as lambda is applied.
TEST(GradientModel, FisherIsTheDiagonalByItsDefinition) {
  GradientOptions options = small_options();
  options.matrices = {"attn_q"};
  options.n_layers = 1;
  const auto exact = *GradientModel<double>::create(golden("llama2"), options);
  const auto model = *GradientModel<float>::create(golden("llama2"), options);
  put_numbers(*exact);
  put_numbers(*model);
  const JudgedText texts[] = {{{3, 14, 15, 9, 2}, {0, 0, 1, 1, 1}}, kOther};
  std::vector<double> expected(exact->numbers().size(), 0);
  std::vector<float> fisher(expected.size(), 0);
  for (const JudgedText& text : texts) {
    for (size_t i = 0; i < expected.size(); ++i) {
      const double slope = slope_at(*exact, text, i);
      expected[i] += slope * slope / 2;
    }
  }
  constexpr double kDecay = 1 - 1e-7;  // so slow that the order of the texts does not count
  for (const JudgedText& text : texts) {
    model->clear_gradient();
    ASSERT_TRUE(model->add_gradient(text, 1));
    add_to_fisher(fisher, model->gradient(), kDecay);
  }
  std::vector<int64_t> groups;
  for (const auto& group : model->groups()) groups.push_back(std::ssize(group.values));
  const std::vector<float> result = normalised_fisher(fisher, groups);
  size_t at = 0;
  for (const int64_t n : groups) {
    double mean = 0, greatest = 0;
    for (int64_t i = 0; i < n; ++i) mean += expected[at + static_cast<size_t>(i)];
    mean /= static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) {
      greatest = std::max(greatest, expected[at + static_cast<size_t>(i)] / mean);
    }
    for (int64_t i = 0; i < n; ++i, ++at) {
      EXPECT_NEAR(double{result[at]}, expected[at] / mean, 1e-4 * greatest) << at;
    }
  }
}

TEST(GradientModel, TheBaseIsTheModelWithoutItsAdapter) {
  const auto model = *GradientModel<float>::create(golden("llama2"), small_options());
  const std::vector<float> base = model->rows(kOther, Beside::nothing, true)->logits;
  EXPECT_EQ(model->rows(kOther, Beside::adapter, true)->logits, base);  // B is 0
  put_numbers(*model);
  EXPECT_EQ(model->rows(kOther, Beside::nothing, true)->logits, base);
  EXPECT_NE(model->rows(kOther, Beside::adapter, true)->logits, base);
}

TEST(GradientModel, TheLastLayersThatFitHaveAnAdapter) {
  GradientOptions options = small_options();
  const auto all = *GradientModel<float>::create(golden("llama2"), options);
  const int64_t n_layers = all->model().h.n_layers;
  ASSERT_GT(n_layers, 1);
  const int64_t of_one = all->n_numbers() / n_layers * int64_t{sizeof(float)};
  options.max_bytes = of_one;
  const auto one = *GradientModel<float>::create(golden("llama2"), options);
  for (const AdaptedModule& module : one->adapter().modules()) {
    EXPECT_EQ(module.layer, n_layers - 1);
  }
  options.max_bytes = of_one - 1;
  EXPECT_EQ(GradientModel<float>::create(golden("llama2"), options).error().code(), Code::invalid);
}

TEST(GradientModel, WhatCannotBeLearnedIsRefused) {
  const auto model = *GradientModel<float>::create(golden("llama2"), small_options());
  const std::vector<int32_t> many(26, 1);
  std::vector<float> one(26, 0);
  one.back() = 1;
  for (const JudgedText& text :
       {JudgedText{}, JudgedText{{1, 2}, {0}}, JudgedText{{1, 2}, {0, 0}}, JudgedText{{1}, {1}},
        JudgedText{{1, 1 << 30}, {0, 1}}, JudgedText{{-1, 1}, {0, 1}}, JudgedText{many, one},
        JudgedText{{1, 2}, {0, NAN}}}) {
    EXPECT_EQ(model->add_gradient(text, 1).error().code(), Code::invalid);
    EXPECT_EQ(model->loss(text).error().code(), Code::invalid);
  }
}

}  // namespace
}  // namespace ruv::gradient_model_test
