// What configs say of residual streams and of what comes with them, and of blocks that layers
// share.
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "format/hf_config.h"

namespace ruv {
namespace {

using Integers = std::vector<int64_t>;
using Truths = std::vector<bool>;

class Config {
 public:
  explicit Config(const Json& json) : parsed_(parse_hf_config(json.dump(), "config.json")) {}

  std::string error() const {
    return parsed_ ? parsed_->faults.first().message() : parsed_.error().message();
  }
  const MetaValue* find(std::string_view key) const {
    const auto found = parsed_->metadata.find(fmt::format("{}.{}", parsed_->architecture, key));
    return found == parsed_->metadata.end() ? nullptr : &found->second;
  }
  int64_t integer(std::string_view key) const { return std::get<int64_t>(*find(key)); }
  double number(std::string_view key) const { return std::get<double>(*find(key)); }
  bool truth(std::string_view key) const { return std::get<bool>(*find(key)); }
  const MetaArray& array(std::string_view key) const {
    return *std::get<std::shared_ptr<const MetaArray>>(*find(key));
  }

 private:
  Result<HfConfig> parsed_;
};

Json streams() {
  return {{"model_type", "gemma3n_text"},
          {"hidden_size", 64},
          {"intermediate_size", 96},
          {"num_hidden_layers", 20},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"vocab_size", 100}};
}

TEST(HfStreams, DefaultsAreTheClass) {
  const Config config(streams());
  ASSERT_EQ(config.error(), "");
  EXPECT_EQ(config.integer("altup.num_inputs"), 4);
  EXPECT_EQ(config.integer("altup.active_idx"), 0);
  EXPECT_TRUE(config.truth("altup.correct_scale"));
  EXPECT_EQ(config.integer("laurel.rank"), 64);
  EXPECT_EQ(config.integer("attention.shared_kv_layers"), 15);
  EXPECT_EQ(config.integer("embedding_length_per_layer_input"), 256);
  EXPECT_EQ(config.integer("attention.key_length"), 256);
  EXPECT_EQ(config.find("attention.key_length_swa"), nullptr) << "heads are alike";
  EXPECT_EQ(config.integer("attention.sliding_window"), 512);
  EXPECT_EQ(config.number("attention.scale"), 1.0);
  EXPECT_EQ(config.number("rope.freq_base"), 1e6);
  EXPECT_EQ(config.number("rope.freq_base_swa"), 1e4);
  EXPECT_EQ(config.integer("context_length"), 32768);
  const Truths& windows = config.array("attention.sliding_window_pattern").bools;
  EXPECT_EQ(Truths(windows.begin(), windows.begin() + 6),
            (Truths{true, true, true, true, false, true}));
  const std::vector<double>& cuts = config.array("activation_sparsity_scale").numbers;
  ASSERT_EQ(cuts.size(), 20U);
  EXPECT_NEAR(cuts[9], 1.6448536, 1e-5);
  EXPECT_EQ(cuts[10], -HUGE_VAL);
}

TEST(HfStreams, ListsHaveANumberForEachLayer) {
  Json json = streams();
  json["num_hidden_layers"] = 3;
  json["num_kv_shared_layers"] = 0;
  json["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention"};
  json["intermediate_size"] = {8, 16, 24};
  json["activation_sparsity_pattern"] = {0.0, 0.5, 0.1};
  const Config config(json);
  ASSERT_EQ(config.error(), "");
  EXPECT_EQ(config.array("feed_forward_length").integers, (Integers{8, 16, 24}));
  EXPECT_EQ(config.array("attention.sliding_window_pattern").bools, (Truths{true, false, true}))
      << "the last layer may have a window";
  const std::vector<double>& cuts = config.array("activation_sparsity_scale").numbers;
  EXPECT_EQ(cuts[0], -HUGE_VAL);
  EXPECT_NEAR(cuts[1], 0, 1e-9);
  EXPECT_NEAR(cuts[2], -1.2815515, 1e-5);
}

TEST(HfStreams, WhatFitsNothingIsRefusedByName) {
  for (const auto& [key, value] :
       std::initializer_list<std::pair<const char*, Json>>{{"altup_active_idx", 4},
                                                           {"altup_num_inputs", 0},
                                                           {"laurel_rank", 0},
                                                           {"intermediate_size", Json::array()},
                                                           {"activation_sparsity_pattern", 0.95},
                                                           {"hidden_size_per_layer_input", 0}}) {
    Json json = streams();
    json[key] = value;
    EXPECT_NE(Config(json).error().find(fmt::format("'{}'", key)), std::string::npos) << key;
  }
  Json json = streams();
  json["activation_sparsity_pattern"] = std::vector<double>(20, 1.0);
  EXPECT_NE(Config(json).error().find("activation_sparsity_pattern"), std::string::npos);
}

Json blocks() {
  return {{"model_type", "zamba2"},
          {"hidden_size", 64},
          {"num_hidden_layers", 3},
          {"num_attention_heads", 4},
          {"vocab_size", 100},
          {"layers_block_type", {"mamba", "hybrid", "hybrid"}},
          {"max_position_embeddings", 64}};
}

TEST(HfSharedBlocks, DefaultsAreTheClass) {
  const Config config(blocks());
  ASSERT_EQ(config.error(), "");
  EXPECT_EQ(config.integer("shared_block.count"), 1);
  EXPECT_EQ(config.integer("shared_block.feed_forward_rank"), 128);
  EXPECT_EQ(config.find("shared_block.attention_rank"), nullptr);
  EXPECT_EQ(config.integer("attention.key_length"), 32);
  EXPECT_EQ(config.number("attention.scale"), 0.25);
  EXPECT_EQ(config.array("attention.head_count_kv").integers, (Integers{0, 4, 4}));
  EXPECT_EQ(config.integer("feed_forward_length"), 256);
  EXPECT_FALSE(config.truth("rope.scaling.finetuned"));
  EXPECT_EQ(config.integer("ssm.state_size"), 64);
  EXPECT_EQ(config.integer("ssm.inner_size"), 128);
  EXPECT_EQ(config.integer("ssm.time_step_rank"), 8);
}

TEST(HfSharedBlocks, UntiedModelsHaveABlockForEachUse) {
  Json json = blocks();
  json["tie_word_embeddings"] = false;
  json["use_shared_attention_adapter"] = true;
  json["adapter_rank"] = 7;
  const Config config(json);
  ASSERT_EQ(config.error(), "");
  EXPECT_EQ(config.integer("shared_block.count"), 3);
  EXPECT_EQ(config.integer("shared_block.attention_rank"), 7);
}

TEST(HfSharedBlocks, WhatFollowsFromOtherKeysMayNotDiffer) {
  for (const auto& [key, value] :
       std::initializer_list<std::pair<const char*, Json>>{{"attention_head_dim", 16},
                                                           {"attention_hidden_size", 64},
                                                           {"mamba_headdim", 8},
                                                           {"use_long_context", true}}) {
    Json json = blocks();
    json[key] = value;
    EXPECT_NE(Config(json).error().find(fmt::format("'{}'", key)), std::string::npos) << key;
  }
  Json json = blocks();
  json.erase("layers_block_type");
  EXPECT_NE(Config(json).error().find("layers_block_type"), std::string::npos);
}

}  // namespace
}  // namespace ruv
