// A checkpoint that was written has what was trained, and a model drawn anew has learned nothing.
#include "train/write_checkpoint.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "base/json.h"
#include "train/trainer.h"

namespace ruv::write_checkpoint_test {
namespace {

std::string golden_folder(const std::string& name) {
  return RUV_SOURCE_DIR "/tests/golden/models/" + name;
}

class WriteCheckpoint : public testing::Test {
 protected:
  WriteCheckpoint() { std::filesystem::create_directory(folder_); }
  ~WriteCheckpoint() override { std::filesystem::remove_all(folder_); }

  const std::string folder_ = testing::TempDir() + "ruv_checkpoint_" + std::to_string(getpid());
};

const std::vector<TrainSequence> kTexts = {{{3, 14, 15, 9, 2, 6, 5, 35}}, {{8, 9, 7, 9, 3}}};

TrainOptions options_with(std::function<bool(std::string_view)> trains = {}) {
  TrainOptions options;
  options.n_threads = 2;
  options.max_rows = 16;
  options.rate.peak = 3e-3;
  options.trains = std::move(trains);
  return options;
}

// Fused matrices, norms less one, a tied embedding, experts.
TEST_F(WriteCheckpoint, IsReadAgain) {
  for (const char* const name : {"llama2", "phi3", "gemma3", "qwen3moe", "qwen2"}) {
    const auto trainer = *Trainer::create(golden_folder(name), options_with());
    ASSERT_TRUE(trainer->step(kTexts)) << name;
    const double loss = *trainer->loss(kTexts);
    const Status written = write_trained_checkpoint(trainer->model(), trainer->parameters(),
                                                    DType::f32, folder_, {.replace = true});
    ASSERT_TRUE(written.ok()) << name << " " << written.message();
    const auto again = *Trainer::create(folder_, options_with());
    EXPECT_NEAR(*again->loss(kTexts), loss, 1e-6) << name;
  }
}

// What is not trained keeps its bytes, and config.json says the type that holds both.
TEST_F(WriteCheckpoint, TensorsThatWereNotTrainedStay) {
  const auto only_queries = [](std::string_view name) { return name.find("attn_q") != name.npos; };
  const auto trainer = *Trainer::create(golden_folder("llama2"), options_with(only_queries));
  ASSERT_TRUE(trainer->step(kTexts));
  ASSERT_TRUE(write_trained_checkpoint(trainer->model(), trainer->parameters(), DType::bf16,
                                       folder_, {.replace = true})
                  .ok());
  const auto before = *ModelFile::open(golden_folder("llama2"));
  const auto after = *ModelFile::open(folder_);
  for (const TensorInfo& tensor : before->tensors()) {
    const TensorInfo& now = *after->find_tensor(tensor.name);
    if (only_queries(tensor.name)) {
      EXPECT_EQ(now.dtype, DType::bf16);
      continue;
    }
    EXPECT_EQ(now.dtype, tensor.dtype);
    EXPECT_TRUE(std::ranges::equal(now.bytes, tensor.bytes)) << tensor.name;
  }
}

TEST_F(WriteCheckpoint, OnlyFoldersGiveFolders) {
  const auto gguf = *Trainer::create(golden_folder("llama2") + "/model.gguf", options_with());
  EXPECT_EQ(
      write_trained_checkpoint(gguf->model(), gguf->parameters(), DType::f32, folder_, {}).code(),
      Code::unsupported);
  const auto trainer = *Trainer::create(golden_folder("llama2"), options_with());
  EXPECT_EQ(checkpoint_files(trainer->model(), golden_folder("llama2")).error().code(),
            Code::invalid);
  EXPECT_EQ(
      write_trained_checkpoint(trainer->model(), trainer->parameters(), DType::q8_0, folder_, {})
          .code(),
      Code::invalid);
}

double deviation(std::span<const float> numbers) {
  double sum = 0;
  for (const float x : numbers) sum += double{x} * double{x};
  return std::sqrt(sum / static_cast<double>(numbers.size()));
}

TEST(DrawWeights, AreThoseOfAModelThatHasLearnedNothing) {
  TrainOptions options = options_with();
  options.fresh = 4;
  for (const char* const name : {"llama2", "phi3", "gemma3"}) {
    const auto trainer = *Trainer::create(golden_folder(name), options);
    const Model& model = trainer->model();
    EXPECT_NEAR(*trainer->loss(kTexts), std::log(static_cast<double>(model.h.n_vocab)), 0.2)
        << name;
    const auto again = *Trainer::create(golden_folder(name), options);
    const auto all = trainer->parameters().all();
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(std::ranges::equal(all[i].values, again->parameters().all()[i].values));
      if (all[i].matrix == nullptr) {
        EXPECT_EQ(all[i].values.back(), all[i].name.ends_with("weight") ? 1 : 0) << all[i].name;
        continue;
      }
      const bool is_residual = all[i].name.find("attn_output") != std::string::npos ||
                               all[i].name.find("ffn_down") != std::string::npos;
      const double expected =
          is_residual ? 0.02 / std::sqrt(2.0 * static_cast<double>(model.h.n_layers)) : 0.02;
      EXPECT_NEAR(deviation(all[i].values), expected, 0.15 * expected) << all[i].name;
    }
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(trainer->step(kTexts));
  }
}

TEST(DrawWeights, WhatWouldStayIsRefused) {
  TrainOptions options =
      options_with([](std::string_view name) { return name != "blk.0.attn_q.weight"; });
  options.fresh = 4;
  const auto refused = Trainer::create(golden_folder("llama2"), options);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  EXPECT_NE(refused.error().message().find("q_proj"), std::string::npos);
  TrainOptions beside = options_with();
  beside.fresh = 4;
  beside.adapter = LowRankOptions{};
  EXPECT_EQ(Trainer::create(golden_folder("llama2"), beside).error().code(), Code::invalid);
}

}  // namespace
}  // namespace ruv::write_checkpoint_test
