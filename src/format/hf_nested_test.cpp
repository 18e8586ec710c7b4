// Configs whose decoder is described inside: classes with towers for other media.
#include <gtest/gtest.h>

#include "base/json.h"
#include "format/hf_config.h"
#include "format/tensor_names.h"

namespace ruv::hf_nested_test {
namespace {

const Json kSizes = {{"hidden_size", 64},
                     {"intermediate_size", 96},
                     {"num_hidden_layers", 3},
                     {"num_attention_heads", 4},
                     {"num_key_value_heads", 2},
                     {"vocab_size", 100},
                     {"hidden_size_per_layer_input", 8}};

int64_t integer_of(const HfConfig& config, std::string_view key) {
  const auto found = config.metadata.find(fmt::format("{}.{}", config.architecture, key));
  return found == config.metadata.end() ? -1 : std::get<int64_t>(found->second);
}

TEST(HfNested, TheTextOfExaone45IsExaone4) {
  Json text = kSizes;
  text["model_type"] = "exaone4_5_text";  // as first published
  const Json json = {{"model_type", "exaone4_5"},
                     {"architectures", {"Exaone4_5_ForConditionalGeneration"}},
                     {"text_config", text},
                     {"vision_config", {{"depth", 2}}},
                     {"image_token_id", 67}};
  const auto config = parse_hf_config(json.dump(), "config.json");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->faults.first().message(), "");
  EXPECT_EQ(config->architecture, "exaone4");
  EXPECT_EQ(integer_of(*config, "block_count"), 3);
  EXPECT_TRUE(is_ignored_hf_tensor("model.visual.blocks.0.attn.qkv.weight"));
}

TEST(HfNested, UnifiedGemma4HasNoInputsOfSingleLayers) {
  const Json json = {{"model_type", "gemma4_unified"},
                     {"architectures", {"Gemma4UnifiedForConditionalGeneration"}},
                     {"text_config", kSizes},
                     {"vision_config", {{"patch_size", 16}}}};
  const auto config = parse_hf_config(json.dump(), "config.json");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->faults.first().message(), "");
  EXPECT_EQ(config->architecture, "gemma4");
  EXPECT_EQ(integer_of(*config, "attention.sliding_window"), 1024);
  EXPECT_EQ(integer_of(*config, "context_length"), 262144);
  EXPECT_EQ(integer_of(*config, "embedding_length_per_layer_input"), -1) << "the key is not read";
  EXPECT_FALSE(config->remarks.empty());
  EXPECT_TRUE(is_ignored_hf_tensor("model.vision_embedder.patch_dense.weight"));
}

}  // namespace
}  // namespace ruv::hf_nested_test
