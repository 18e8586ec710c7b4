// A model with an adapter in its weights computes what the model beside the adapter does.
#include "train/merge_into.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "train/trainer.h"

namespace ruv::merge_into_test {
namespace {

const std::vector<TrainSequence> kTexts = {{{3, 14, 15, 9, 2, 6, 5, 35}}, {{8, 9, 7, 9, 3}}};

class MergeInto : public testing::Test {
 protected:
  MergeInto() { std::filesystem::create_directories(adapter_); }
  ~MergeInto() override { std::filesystem::remove_all(folder_); }

  static std::string golden(const std::string& name) {
    return RUV_SOURCE_DIR "/tests/golden/models/" + name;
  }
  // Trains an adapter, writes it, and returns the loss beside it.
  double make_adapter_for(const std::string& model) {
    TrainOptions options;
    options.n_threads = 2;
    options.max_rows = 16;
    options.rate.peak = 3e-2;
    options.adapter = LowRankOptions{.rank = 3, .alpha = 6, .seed = 1};
    const auto trainer = *Trainer::create(model, options);
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(trainer->step(kTexts));
    EXPECT_TRUE(
        write_peft_adapter(trainer->model(), *trainer->adapter(), trainer->parameters(), adapter_)
            .ok());
    return *trainer->loss(kTexts);
  }
  static double loss_of(const std::string& model) {
    const auto plain = Trainer::create(model, TrainOptions{.n_threads = 2, .max_rows = 16});
    EXPECT_TRUE(plain) << plain.error().message();
    return *(*plain)->loss(kTexts);
  }
  Result<MergeIntoSummary> merge(const std::string& model, MergeIntoOptions options = {},
                                 std::vector<float> scales = {1}) const {
    std::vector<AdapterToMerge> adapters;
    for (const float scale : scales) adapters.push_back({*open_adapter(adapter_), scale});
    options.replace = true;
    return merge_into_model(model, adapters, merged_, options);
  }

  const std::string folder_ = testing::TempDir() + "ruv_merge_into_" + std::to_string(getpid());
  const std::string adapter_ = folder_ + "/adapter";
  const std::string merged_ = folder_ + "/merged.gguf";
};

// Rows of q and k move between containers.
TEST_F(MergeInto, ComputesWhatTheModelBesideTheAdapterDoes) {
  for (const char* const name : {"llama2", "llama2/model.gguf", "gemma3", "qwen2"}) {
    const std::string model = golden(name);
    const double beside = make_adapter_for(model);
    EXPECT_GT(std::abs(beside - loss_of(model)), 0.3) << name;
    const auto summary = merge(model, {.dtype = DType::f32});
    ASSERT_TRUE(summary) << name << ": " << summary.error().message();
    EXPECT_GT(summary->n_matrices, 0);
    EXPECT_NEAR(loss_of(merged_), beside, 2e-5) << name;
  }
}

TEST_F(MergeInto, ScalesAreSummed) {
  const std::string model = golden("llama2");
  const double beside = make_adapter_for(model);
  ASSERT_TRUE(merge(model, {.dtype = DType::f32}, {0.25F, 0.75F}));
  EXPECT_NEAR(loss_of(merged_), beside, 2e-5);
  ASSERT_TRUE(merge(model, {.dtype = DType::f32}, {1, -1}));
  EXPECT_NEAR(loss_of(merged_), loss_of(model), 2e-5);
}

TEST_F(MergeInto, StopsAndRefusesWithoutAFile) {
  const std::string model = golden("llama2");
  make_adapter_for(model);
  const auto stopped = merge(model, {.go_on = [](double share) { return share < 0.5; }});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), Code::cancelled);
  const auto other = merge(golden("qwen2"));
  ASSERT_FALSE(other);
  EXPECT_FALSE(std::filesystem::exists(merged_));
}

}  // namespace
}  // namespace ruv::merge_into_test
