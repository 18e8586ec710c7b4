// What configs say of heads and widths of single layers, and of matrix memories.
#include <gtest/gtest.h>

#include "base/json.h"
#include "format/hf_config.h"

namespace ruv::hf_layer_widths_test {
namespace {

using Integers = std::vector<int64_t>;

class WidthConfig {
 public:
  explicit WidthConfig(const Json& json) : parsed_(parse_hf_config(json.dump(), "config.json")) {}

  std::string error() const {
    return parsed_ ? parsed_->faults.first().message() : parsed_.error().message();
  }
  bool is_tied() const { return parsed_->tied_embeddings; }
  template <class T>
  T get(std::string_view key) const {
    return std::get<T>(parsed_->metadata.at(fmt::format("{}.{}", parsed_->architecture, key)));
  }
  Integers integers(std::string_view key) const {
    return get<std::shared_ptr<const MetaArray>>(key)->integers;
  }

 private:
  Result<HfConfig> parsed_;
};

std::string error_of(const Json& json) { return WidthConfig(json).error(); }

Json widths() {
  return {{"model_type", "openelm"},
          {"model_dim", 100},
          {"num_transformer_layers", 3},
          {"num_query_heads", {4, 6, 2}},
          {"num_kv_heads", {2, 3, 1}},
          {"ffn_multipliers", {0.5, 0.1, 2.38}},
          {"ffn_dim_divisor", 16},
          {"num_gqa_groups", 2},
          {"vocab_size", 50}};
}

TEST(HfLayerWidths, ListsGiveEachLayerItsOwn) {
  const WidthConfig config(widths());
  ASSERT_EQ(config.error(), "");
  EXPECT_EQ(config.integers("attention.head_count"), Integers({4, 6, 2}));
  EXPECT_EQ(config.integers("attention.head_count_kv"), Integers({2, 3, 1}));
  // 50 is nearest to 48; 10 is below one multiple; 238 to 240.
  EXPECT_EQ(config.integers("feed_forward_length"), Integers({48, 16, 240}));
  EXPECT_EQ(config.get<int64_t>("attention.key_length"), 128);
  EXPECT_EQ(config.get<int64_t>("context_length"), 2048);
  EXPECT_FALSE(config.get<bool>("use_qk_norm") || config.is_tied());
  Json tied = widths();
  tied["share_input_output_layers"] = true;
  EXPECT_TRUE(WidthConfig(tied).is_tied());
}

TEST(HfLayerWidths, AWidthIsNotFarBelowWhatTheFactorSays) {
  Json json = widths();
  json["ffn_dim_divisor"] = 64;
  json["ffn_multipliers"] = {0.72, 0.71, 1.0};  // 64 is below nine tenths of 72
  const WidthConfig config(json);
  ASSERT_EQ(config.error(), "");
  EXPECT_EQ(config.integers("feed_forward_length"), Integers({128, 64, 128}));
}

TEST(HfLayerWidths, WrongListsAreRefusedByTheirKey) {
  const auto with = [](const char* key, const Json& value) {
    Json json = widths();
    json[key] = value;
    return error_of(json);
  };
  for (const char* key : {"num_query_heads", "num_kv_heads", "ffn_multipliers"}) {
    for (const Json& value : {Json({4, 6}), Json({4, 0, 2}), Json({4, -1, 2}), Json(4),
                              Json({4, "6", 2}), Json(nullptr)}) {
      EXPECT_NE(with(key, value).find(key), std::string::npos) << key << " " << value.dump();
    }
  }
  EXPECT_NE(with("num_gqa_groups", 3).find("num_gqa_groups"), std::string::npos);
  EXPECT_NE(with("rope_scaling", {{"type", "linear"}}).find("rope_scaling"), std::string::npos);
  EXPECT_NE(with("ffn_with_glu", false).find("ffn_with_glu"), std::string::npos);
  EXPECT_NE(with("ffn_multipliers", {1e300, 1, 1}).find("ffn_multipliers"), std::string::npos);
}

Json memory() {
  return {{"model_type", "xlstm"}, {"hidden_size", 100},    {"num_blocks", 2},
          {"num_heads", 5},        {"qk_dim_factor", 0.55}, {"vocab_size", 50}};
}

TEST(HfMatrixMemory, WidthsAreSharesOfTheStream) {
  const WidthConfig config(memory());
  ASSERT_EQ(config.error(), "");
  EXPECT_EQ(config.get<int64_t>("block_count"), 2);
  EXPECT_EQ(config.get<int64_t>("matrix_memory.head_count"), 5);
  EXPECT_EQ(config.get<int64_t>("matrix_memory.key_length"), 11);
  EXPECT_EQ(config.get<int64_t>("matrix_memory.value_length"), 20);
  EXPECT_EQ(config.get<int64_t>("feed_forward_length"), 320) << "266.7, to a multiple of 64";
  EXPECT_EQ(config.get<double>("matrix_memory.gate_softcapping"), 15);
  EXPECT_EQ(config.get<double>("final_logit_softcapping"), 30);
  EXPECT_EQ(config.get<double>("matrix_memory.epsilon"), 1e-6);
}

TEST(HfMatrixMemory, OtherFormsAreRefusedByTheirKey) {
  const auto with = [](const char* key, const Json& value) {
    Json json = memory();
    json[key] = value;
    return error_of(json);
  };
  const std::pair<const char*, Json> others[] = {
      {"use_bias", true},         {"weight_mode", "fused"},
      {"add_out_norm", false},    {"inference_state_dtype", "bfloat16"},
      {"qk_dim_factor", 0.51},    {"v_dim_factor", 0},
      {"v_dim_factor", 0.001},    {"gate_soft_cap", 0},
      {"ffn_proj_factor", -1.0},  {"output_logit_soft_cap", -3},
      {"embedding_dim", 64},      {"tie_word_embeddings", true},
      {"qk_dim_factor", 1e300},   {"eps", -1e-6},
      {"ffn_proj_factor", 1e300},
  };
  for (const auto& [key, value] : others) {
    EXPECT_NE(with(key, value).find(key), std::string::npos) << key << " " << value.dump();
  }
}

}  // namespace
}  // namespace ruv::hf_layer_widths_test
