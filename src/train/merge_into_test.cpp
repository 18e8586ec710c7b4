// A model with an adapter in its weights computes what the model beside the adapter does.
#include "train/merge_into.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "base/test_safetensors.h"
#include "format/gguf_writer.h"
#include "format/test_folder.h"
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

  static std::vector<AdapterToMerge> one_adapter(const std::string& path, float scale) {
    std::vector<AdapterToMerge> adapters;
    adapters.push_back({*open_adapter(path), scale});
    return adapters;
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

// Of the experts only the adapter's changes, by the product of its matrices.
TEST_F(MergeInto, ExpertsAreMergedEachWithItsOwn) {
  const TestFolder adapter;
  const std::string stem = "base_model.model.model.layers.1.block_sparse_moe.experts.2.w3.lora_";
  for (const char* name : {"mixtral", "mixtral/model.gguf"}) {
    const auto file = *ModelFile::open(golden("mixtral/model.gguf"));
    const TensorInfo& base = *file->find_tensor("blk.1.ffn_up_exps.weight");
    const int64_t n_out = base.shape[1], n_in = base.shape[2];
    TestMatrix a = counted(stem + "A.weight", 1, n_in), b = counted(stem + "B.weight", n_out, 1);
    for (float& number : a.numbers) number *= 0x1p-6F;
    adapter.write("adapter_model.safetensors", safetensors_of({a, b}));
    adapter.write("adapter_config.json", R"({"peft_type":"LORA","r":1,"lora_alpha":3})");
    const auto summary = merge_into_model(golden(name), one_adapter(adapter.path(), 0.5F), merged_,
                                          {.dtype = DType::f32, .replace = true});
    ASSERT_TRUE(summary) << name << ": " << summary.error().message();
    EXPECT_EQ(summary->n_rows, n_out);
    const auto merged_file = *ModelFile::open(merged_);
    const TensorInfo& merged = *merged_file->find_tensor("blk.1.ffn_up_exps.weight");
    ASSERT_EQ(merged.shape, base.shape);
    std::vector<float> want(static_cast<size_t>(n_in)), got(want.size());
    for (int64_t row = 0; row < base.n_rows(); ++row) {
      base.decode_row(row, want.data());
      merged.decode_row(row, got.data());
      const bool is_of_adapter = row / n_out == 2;
      for (size_t i = 0; is_of_adapter && i < want.size(); ++i) {
        want[i] += 1.5F * b.numbers[static_cast<size_t>(row % n_out)] * a.numbers[i];
      }
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_NEAR(got[i], want[i], 1e-4) << row << " " << i;
    }
  }
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

TEST_F(MergeInto, RefusesAControlVector) {
  const std::string model = golden("llama2");
  const std::vector<float> numbers(static_cast<size_t>((*load_model(model))->h.n_embd), 1.0F);
  const std::string path = folder_ + "/steer.gguf";
  {
    GgufWriter writer = *GgufWriter::create(path);
    writer.add_text("general.architecture", "controlvector");
    const int64_t shape[] = {std::ssize(numbers)};
    writer.declare_tensor("direction.1", DType::f32, shape);
    ASSERT_TRUE(writer.begin_tensors().ok());
    ASSERT_TRUE(writer.write(std::as_bytes(std::span(numbers))).ok());
    ASSERT_TRUE(writer.commit().ok());
  }
  std::vector<AdapterToMerge> adapters;
  adapters.push_back({*open_adapter(path), 1});
  const auto merged = merge_into_model(model, adapters, merged_, {});
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code(), Code::unsupported);
  EXPECT_EQ(merged.error().message(),
            path + ": is a control vector, which no matrix can have in it");
  EXPECT_FALSE(std::filesystem::exists(merged_));
}

}  // namespace
}  // namespace ruv::merge_into_test
