// Weights that are quantised as a model loads.
#include "model/weight_choice.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "model/content_key.h"
#include "model/model.h"
#include "ruv/logits.h"

namespace ruv {
namespace {

constexpr const char* kLlamaModel = RUV_SOURCE_DIR "/tests/golden/models/llama3";

class WeightsAsTheyLoad : public testing::Test {
 protected:
  WeightsAsTheyLoad() {
    options_.n_threads = 2;
    options_.packed_cache_min_bytes = 0;
    options_.packed_cache_reserve_bytes = 0;
    options_.note = [this](NoteKind kind, std::string_view text) {
      if (kind == NoteKind::choice) choices_.emplace_back(text);
    };
  }
  ~WeightsAsTheyLoad() override { std::filesystem::remove_all(folder_); }

  std::shared_ptr<const Model> load(std::string type) {
    options_.quantize = std::move(type);
    auto model = load_model(kLlamaModel, options_);
    EXPECT_TRUE(model.has_value()) << model.error().message();
    return *model;
  }
  static std::vector<float> logits_of(const Model& model) {
    std::vector<float> last;
    const std::vector<Token> ids = {3, 1, 4, 1, 5};
    const Status status = compute_logits(
        model, ids, {.n_threads = 2},
        [&](int64_t, std::span<const float> row) { last.assign(row.begin(), row.end()); });
    EXPECT_TRUE(status.ok()) << status.message();
    return last;
  }

  const std::string folder_ = testing::TempDir() + "ruv_choice_" + std::to_string(getpid());
  LoadOptions options_;
  std::vector<std::string> choices_;
};

TEST_F(WeightsAsTheyLoad, AreKeptInThePackedFileOfTheirType) {
  const auto floats = load("");
  const auto plain = load("q8_0");
  options_.packed_cache_dir = folder_;
  (void)load("");
  const auto first = load("q8_0");
  const auto second = load("q8_0");
  EXPECT_FALSE(model_info(*first).from_packed_file) << "that of the floats is another";
  EXPECT_TRUE(model_info(*second).from_packed_file);
  EXPECT_EQ(model_info(*second).format, "q8_0");
  EXPECT_LT(model_info(*second).weight_bytes, model_info(*floats).weight_bytes / 2);
  const std::vector<float> expected = logits_of(*plain);
  EXPECT_EQ(logits_of(*first), expected);
  EXPECT_EQ(logits_of(*second), expected);
  EXPECT_NE(logits_of(*floats), expected);
  const Packing& packing = plain->device->packing();
  const ContentKey of_floats = content_key(*floats->file, packing);
  const ContentKey of_blocks = content_key(*plain->file, packing);
  EXPECT_NE(of_floats.words[0], of_blocks.words[0]) << "their keys and values are others";
}

TEST_F(WeightsAsTheyLoad, AreTheBestThatFitTheMemory) {
  const int64_t n_floats = model_info(*load("")).weight_bytes;
  options_.memory_bytes = 2 * n_floats;
  EXPECT_TRUE(load("auto")->file->weight_type().empty());
  EXPECT_TRUE(choices_.empty());
  options_.memory_bytes = n_floats / 2;
  EXPECT_EQ(load("auto")->file->weight_type(), "q8_0");
  ASSERT_EQ(choices_.size(), 1U);
  EXPECT_NE(choices_[0].find("as q8_0 they take"), std::string::npos) << choices_[0];
}

TEST_F(WeightsAsTheyLoad, AreRefusedAsAnUnknownType) {
  options_.quantize = "q9";
  const auto model = load_model(kLlamaModel, options_);
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code(), Code::invalid);
}

}  // namespace
}  // namespace ruv
