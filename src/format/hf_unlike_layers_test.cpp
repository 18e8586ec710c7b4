// What configs say of layers that are unlike each other: heads, windows, shared keys and values,
// inputs of their own.
#include <gtest/gtest.h>

#include "base/json.h"
#include "format/hf_config.h"

namespace ruv::hf_unlike_layers_test {
namespace {

using Integers = std::vector<int64_t>;
using Truths = std::vector<bool>;

Json small() {
  return {{"model_type", "gemma4_text"},    {"hidden_size", 64},        {"intermediate_size", 96},
          {"num_hidden_layers", 7},         {"num_attention_heads", 4}, {"num_key_value_heads", 2},
          {"max_position_embeddings", 512}, {"vocab_size", 100}};
}

// What a config means; or a refusal.
class UnlikeConfig {
 public:
  explicit UnlikeConfig(const Json& json) : parsed_(parse_hf_config(json.dump(), "config.json")) {}

  std::string error() const {
    return parsed_ ? parsed_->faults.first().message() : parsed_.error().message();
  }
  const std::vector<std::string>& remarks() const { return parsed_->remarks; }
  const MetaValue* find(std::string_view key) const {
    const auto found = parsed_->metadata.find(fmt::format("gemma4.{}", key));
    return found == parsed_->metadata.end() ? nullptr : &found->second;
  }
  int64_t integer(std::string_view key) const { return std::get<int64_t>(*find(key)); }
  double number(std::string_view key) const { return std::get<double>(*find(key)); }
  const MetaArray& array(std::string_view key) const {
    return *std::get<std::shared_ptr<const MetaArray>>(*find(key));
  }

 private:
  Result<HfConfig> parsed_;
};

TEST(HfUnlikeLayers, DefaultsAreTheClass) {
  const UnlikeConfig config(small());
  ASSERT_EQ(config.error(), "");
  EXPECT_EQ(config.integer("attention.key_length"), 512);
  EXPECT_EQ(config.integer("attention.value_length"), 512);
  EXPECT_EQ(config.integer("attention.key_length_swa"), 256);
  EXPECT_EQ(config.integer("attention.value_length_swa"), 256);
  EXPECT_EQ(config.integer("attention.head_count_kv"), 2);
  EXPECT_EQ(config.integer("attention.sliding_window"), 512);
  EXPECT_EQ(config.array("attention.sliding_window_pattern").bools,
            (Truths{true, true, true, true, true, false, false}));
  EXPECT_EQ(config.integer("attention.shared_kv_layers"), 0);
  EXPECT_EQ(config.integer("embedding_length_per_layer_input"), 256);
  EXPECT_EQ(config.integer("feed_forward_length"), 96);
  EXPECT_EQ(config.number("attention.scale"), 1.0);
  EXPECT_EQ(config.number("rope.freq_base"), 1e6);
  EXPECT_EQ(config.number("rope.freq_base_swa"), 1e4);
  EXPECT_EQ(config.integer("rope.dimension_count"), 512);
  EXPECT_EQ(config.integer("rope.dimension_count_swa"), 256);
  const std::vector<double>& divisors = config.array("rope.freq_divisors").numbers;
  ASSERT_EQ(divisors.size(), 256U);
  EXPECT_EQ(divisors[63], 1);
  EXPECT_EQ(divisors[64], 1e30);
  EXPECT_EQ(config.find("expert_count"), nullptr);
}

TEST(HfUnlikeLayers, LayersWithoutAWindowHaveHeadsOfTheirOwn) {
  Json json = small();
  json["layer_types"] = {"full_attention",    "sliding_attention", "full_attention",
                         "sliding_attention", "sliding_attention", "sliding_attention",
                         "sliding_attention"};
  json["global_head_dim"] = 24;
  json["num_global_key_value_heads"] = 1;
  EXPECT_EQ(UnlikeConfig(json).integer("attention.head_count_kv"), 2) << "values are not keys";
  json["attention_k_eq_v"] = true;
  EXPECT_EQ(UnlikeConfig(json).integer("attention.key_length"), 24);
  EXPECT_EQ(UnlikeConfig(json).array("attention.head_count_kv").integers,
            (Integers{1, 2, 1, 2, 2, 2, 1}))
      << "the last layer has no window, whatever is listed";
  json.erase("global_head_dim");
  json["per_layer_config"] = {
      {"0", {{"head_dim", 20}}}, {"2", {{"head_dim", 20}}}, {"6", {{"head_dim", 20}}}};
  EXPECT_EQ(UnlikeConfig(json).integer("attention.key_length"), 20);
  EXPECT_EQ(UnlikeConfig(json).integer("attention.head_count_kv"), 2) << "the object says all";
  json["per_layer_config"]["2"]["head_dim"] = 22;
  EXPECT_NE(UnlikeConfig(json).error().find("'per_layer_config' gives layer 2 other heads"),
            std::string::npos);
  json["per_layer_config"]["2"] = {{"head_dim", 20}, {"sliding_window", 8}};
  EXPECT_NE(UnlikeConfig(json).error().find("sliding_window"), std::string::npos);
  json["per_layer_config"] = {{"07", {{"head_dim", 20}}}};
  EXPECT_NE(UnlikeConfig(json).error().find("is not the number of a layer"), std::string::npos);
}

TEST(HfUnlikeLayers, TheLastLayersMayShareAndBeWider) {
  Json json = small();
  json["layer_types"] = {"full_attention",    "sliding_attention", "full_attention",
                         "sliding_attention", "sliding_attention", "sliding_attention",
                         "full_attention"};
  json["num_kv_shared_layers"] = 3;
  EXPECT_EQ(UnlikeConfig(json).integer("feed_forward_length"), 96);
  json["use_double_wide_mlp"] = true;
  EXPECT_EQ(UnlikeConfig(json).integer("attention.shared_kv_layers"), 3);
  EXPECT_EQ(UnlikeConfig(json).array("feed_forward_length").integers,
            (Integers{96, 96, 96, 96, 192, 192, 192}));
  for (const int n : {6, 7, 8}) {
    json["num_kv_shared_layers"] = n;
    EXPECT_NE(UnlikeConfig(json).error().find("'num_kv_shared_layers'"), std::string::npos) << n;
  }
}

TEST(HfUnlikeLayers, WhatIsNotComputedIsRefusedByName) {
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, Json>>{
           {"use_bidirectional_attention", "all"}, {"rope_theta", 10000.0}}) {
    Json json = small();
    json[key] = value;
    EXPECT_NE(UnlikeConfig(json).error().find(key), std::string::npos) << key;
  }
  Json json = small();
  json["use_bidirectional_attention"] = "vision";
  EXPECT_EQ(UnlikeConfig(json).error(), "");
}

TEST(HfUnlikeLayers, TheClassWithTowersHasTheSameText) {
  const Json json = {
      {"model_type", "gemma4"},   {"architectures", {"Gemma4ForConditionalGeneration"}},
      {"text_config", small()},   {"vision_config", {{"hidden_size", 8}}},
      {"audio_config", nullptr},  {"audio_token_id", 258881},
      {"boa_token_id", 256000},   {"eoa_token_index", 258883},
      {"image_token_id", 258880}, {"video_token_id", 258884}};
  const UnlikeConfig config(json);
  EXPECT_EQ(config.error(), "");
  EXPECT_EQ(config.remarks(), std::vector<std::string>());
  EXPECT_EQ(config.integer("attention.key_length"), 512);
}

TEST(HfUnlikeLayers, ExpertsAreThereWhereTheyAreEnabled) {
  Json json = small();
  json["num_experts"] = 4;
  json["top_k_experts"] = 2;
  json["moe_intermediate_size"] = 16;
  EXPECT_EQ(UnlikeConfig(json).find("expert_count"), nullptr);
  json["enable_moe_block"] = true;
  EXPECT_EQ(UnlikeConfig(json).integer("expert_count"), 4);
  EXPECT_EQ(UnlikeConfig(json).integer("expert_used_count"), 2);
  EXPECT_EQ(UnlikeConfig(json).integer("expert_feed_forward_length"), 16);
  EXPECT_EQ(UnlikeConfig(json).integer("feed_forward_length"), 96);
}

}  // namespace
}  // namespace ruv::hf_unlike_layers_test
