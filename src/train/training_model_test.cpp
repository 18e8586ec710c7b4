// Whole small models: logits beside those of the CPU device, and derivatives beside differences.
#include <gtest/gtest.h>

#include <cmath>

#include "base/test_share.h"
#include "device/batch_builder.h"
#include "model/decoder.h"
#include "train/parameters.h"
#include "train/token_loss.h"

namespace ruv::training_model_test {
namespace {

const std::vector<int32_t> kFirst = {3, 14, 15, 9, 2, 6, 5, 35};
const std::vector<int32_t> kSecond = {8, 9, 7, 9};

std::string model_path(const std::string& name) {
  return RUV_SOURCE_DIR "/tests/golden/models/" + name + "/model.gguf";
}

// Two sequences in one step, with the logits of all rows but the first's first.
BatchBuilder two_texts(std::span<const PageId> first = {}, std::span<const PageId> second = {},
                       bool has_states = false) {
  BatchBuilder builder;
  builder.begin_sequence(0, first);
  if (has_states) builder.set_state(0, {});  // a frame of zeros
  builder.add(kFirst);
  builder.want_logits(std::ssize(kFirst) - 1);
  builder.begin_sequence(0, second);
  if (has_states) builder.set_state(0, {});
  builder.add(kSecond);
  builder.want_logits(std::ssize(kSecond));
  return builder;
}

// A model on a training device.
template <class T>
class TrainedModel {
 public:
  explicit TrainedModel(const std::string& name)
      : device_(make_train_device<T>()),
        model_(*load_model_on(device_, model_path(name))),
        activations_(*Activations::create(*model_, 16, 16)),
        ops_(device_->make_ops(pool_)) {}

  const Model& model() const { return *model_; }
  TrainDevice<T>& device() { return *device_; }
  WorkerPool& pool() { return pool_; }
  View step(const BatchBuilder& batch) {
    return decode(*ops_, *model_, batch.batch(), activations_, 16)->logits;
  }
  double loss(const BatchBuilder& batch, bool records, int64_t checkpoints = 0) {
    const std::vector<int32_t> targets = {15, 9, kNoTarget, 6, 5, 35, 1, 9, 7, 9, 4};
    if (records) device_->tape().record(checkpoints);
    const View logits = step(batch);
    const double sum =
        cross_entropy(device_->memory().numbers(logits, records), {targets}, 1, pool_);
    if (records) device_->tape().backward();
    return sum;
  }

 private:
  WorkerPool pool_{2};
  std::shared_ptr<TrainDevice<T>> device_;
  std::shared_ptr<const Model> model_;
  Activations activations_;
  std::unique_ptr<Ops> ops_;
};

std::vector<float> cpu_logits(const std::string& name) {
  const std::shared_ptr<const Model> model = *load_model(model_path(name));
  WorkerPool pool(1);
  const bool has_states = name == "lfm2";
  std::optional<FrameLimits> limits;
  if (has_states) limits = FrameLimits{.n_lists = 2, .n_rows = 16};
  KvPages pages = *KvPages::create(model->cache_layout(), 2, limits);
  const Activations activations = *Activations::create(*model, 16, 16);
  const std::unique_ptr<Ops> ops = *model->device->make_ops(pool, pages, ops_limits(*model, 16));
  const std::vector<PageId> first = {0}, second = {1};
  const BatchBuilder batch = two_texts(first, second, has_states);
  const View logits = decode(*ops, *model, batch.batch(), activations, 16)->logits;
  std::vector<float> numbers(static_cast<size_t>(logits.n_rows * logits.n_cols));
  model->device->download(logits.start, std::as_writable_bytes(std::span(numbers)));
  return numbers;
}

// Keys and values of the CPU device are f16.
constexpr double kMostOfLogits = 5e-3;
constexpr const char* kModels[] = {
    "llama2", "llama3",        "llama_bias", "mistral", "gemma", "gemma2", "gemma3",  "gpt2",
    "phi3",   "phi3_longrope", "starcoder2", "qwen2",   "qwen3", "lfm2",   "mixtral", "qwen3moe"};

TEST(TrainingModel, LogitsAreThoseOfTheCpu) {
  for (const char* const name : kModels) {
    TrainedModel<float> trained(name);
    const View logits = trained.step(two_texts());
    ASSERT_TRUE(trained.device().failure().ok()) << trained.device().failure().message();
    std::vector<float> numbers(static_cast<size_t>(logits.n_rows * logits.n_cols));
    trained.device().download(logits.start, std::as_writable_bytes(std::span(numbers)));
    const std::vector<float> expected = cpu_logits(name);
    ASSERT_EQ(numbers.size(), expected.size());
    double greatest = 0;
    double error = 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
      greatest = std::max(greatest, std::abs(double{expected[i]}));
      error = std::max(error, std::abs(double{numbers[i]} - double{expected[i]}));
    }
    EXPECT_LT(error / greatest, kMostOfLogits) << name;
  }
}

// Some numbers of each parameter, and of each the greatest derivative.
TEST(TrainingModel, DerivativesAreThoseOfDifferences) {
  for (const char* const name : std::span(kModels).first(std::size(kModels) / kTestShare)) {
    TrainedModel<double> trained(name);
    const auto parameters =
        *Parameters<double>::choose(trained.model(), trained.device(), [](auto) { return true; });
    const BatchBuilder batch = two_texts();
    trained.loss(batch, true);
    ASSERT_TRUE(trained.device().failure().ok()) << trained.device().failure().message();
    double worst = 0;
    for (const Parameter<double>& p : parameters.all()) {
      const auto greatest =
          std::ranges::max_element(p.gradient, {}, [](double g) { return std::abs(g); });
      const auto n = p.values.size();
      for (const size_t at : {static_cast<size_t>(greatest - p.gradient.begin()), n / 3, n - 1}) {
        constexpr double kStep = 3e-4;
        const double kept = p.values[at];
        const auto loss_at = [&](double x) {
          p.values[at] = kept + x;
          return trained.loss(batch, false);
        };
        const double slope =
            (loss_at(-2 * kStep) - 8 * loss_at(-kStep) + 8 * loss_at(kStep) - loss_at(2 * kStep)) /
            (12 * kStep);
        p.values[at] = kept;
        const double error = std::abs(slope - p.gradient[at]) / (std::abs(*greatest) + 1e-3);
        worst = std::max(worst, error);
        EXPECT_LT(error, 1e-6) << name << " " << p.name << " " << at;
      }
    }
    RecordProperty(name, std::to_string(worst));
  }
}

// Float32 has kernels of its own for some functions.
TEST(TrainingModel, DerivativesInFloatAreThoseInDouble) {
  for (const char* const name : kModels) {
    TrainedModel<double> exact(name);
    TrainedModel<float> trained(name);
    const auto all = [](auto) { return true; };
    const auto expected = *Parameters<double>::choose(exact.model(), exact.device(), all);
    const auto found = *Parameters<float>::choose(trained.model(), trained.device(), all);
    exact.loss(two_texts(), true);
    trained.loss(two_texts(), true);
    ASSERT_EQ(found.all().size(), expected.all().size());
    for (size_t p = 0; p < expected.all().size(); ++p) {
      const std::span<const double> wanted = expected.all()[p].gradient;
      const std::span<const float> got = found.all()[p].gradient;
      const double greatest =
          std::abs(*std::ranges::max_element(wanted, {}, [](double g) { return std::abs(g); }));
      for (size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_NEAR(double{got[i]}, wanted[i], 1e-4 * greatest + 1e-6)
            << name << " " << found.all()[p].name << " " << i;
      }
    }
  }
}

// Segments of any length give the bytes of the walk without them, and so does any number of
// threads; what entries wrote has no adjoint left.
TEST(TrainingModel, CheckpointsGiveTheSameBytes) {
  for (const char* const name : {"llama2", "gemma3"}) {
    std::vector<std::vector<float>> expected;
    for (const int64_t checkpoints : {0, 1, 5, 1000}) {
      TrainedModel<float> trained(name);
      const auto parameters =
          *Parameters<float>::choose(trained.model(), trained.device(), [](auto) { return true; });
      trained.loss(two_texts(), true, checkpoints);
      if (expected.empty()) {
        for (const auto& p : parameters.all())
          expected.emplace_back(p.gradient.begin(), p.gradient.end());
        continue;
      }
      for (size_t i = 0; i < expected.size(); ++i) {
        const Parameter<float>& p = parameters.all()[i];
        EXPECT_TRUE(std::ranges::equal(p.gradient, expected[i])) << name << " " << p.name;
      }
      EXPECT_EQ(trained.device().tape().kept().now(), 0);
    }
  }
}

TEST(TrainingModel, WhatCannotBeTrainedSaysSo) {
  TrainedModel<float> trained("t5");
  BatchBuilder batch;
  batch.begin_sequence(0, {});
  batch.set_source(2);
  batch.add(std::vector<int32_t>{1, 2, 0});
  batch.want_logits();
  trained.step(batch);
  EXPECT_EQ(trained.device().failure().code(), Code::unsupported);
  EXPECT_NE(trained.device().failure().message().find("source"), std::string::npos);
}

}  // namespace
}  // namespace ruv::training_model_test
