// What configs say of layers before those with experts, and of what all rows share beside these.
#include <gtest/gtest.h>

#include "base/json.h"
#include "format/hf_config.h"

namespace ruv::hf_prefixed_test {
namespace {

using Truths = std::vector<bool>;

HfConfig read(const Json& json) {
  auto config = parse_hf_config(json.dump(), "config.json");
  EXPECT_TRUE(config) << config.error().message();
  return std::move(*config);
}
std::string error_of(const Json& json) { return read(json).faults.first().message(); }
template <class T>
T value(const HfConfig& config, std::string_view key) {
  return std::get<T>(config.metadata.at(fmt::format("{}.{}", config.architecture, key)));
}
Truths truths(const HfConfig& config, std::string_view key) {
  return value<std::shared_ptr<const MetaArray>>(config, key)->bools;
}

Json prefixed() {
  return {{"model_type", "cohere2_moe"}, {"hidden_size", 64},
          {"intermediate_size", 24},     {"num_hidden_layers", 7},
          {"num_attention_heads", 4},    {"head_dim", 16},
          {"first_k_dense_replace", 2},  {"sliding_window_pattern", 3},
          {"num_shared_experts", 2},     {"vocab_size", 100}};
}

TEST(HfPrefixed, LayersWithExpertsAreCountedAnew) {
  const HfConfig config = read(prefixed());
  ASSERT_EQ(config.faults.first().message(), "");
  EXPECT_EQ(truths(config, "attention.sliding_window_pattern"),
            Truths({false, false, true, true, false, true, true}));
  EXPECT_EQ(truths(config, "rope.rotated_layers"),
            Truths({true, true, true, true, false, true, true}))
      << "dense layers rotate all the same";
  EXPECT_EQ(truths(config, "expert_layers"), Truths({false, false, true, true, true, true, true}));
  EXPECT_EQ(value<int64_t>(config, "expert_gating_func"), 3) << "a softmax of the chosen";
  EXPECT_TRUE(value<bool>(config, "expert_shared_average"));
  EXPECT_EQ(value<int64_t>(config, "expert_shared_feed_forward_length"), 48);
}

TEST(HfPrefixed, APeriodOfTheirOwn) {
  Json json = prefixed();
  json["prefix_dense_sliding_window_pattern"] = 2;
  json["prefix_dense_intermediate_size"] = 40;
  json["expert_selection_fn"] = "sigmoid";
  json["shared_expert_combination_strategy"] = "sum";
  const HfConfig config = read(json);
  ASSERT_EQ(config.faults.first().message(), "");
  const Truths windowed = {true, false, true, true, false, true, true};
  EXPECT_EQ(truths(config, "attention.sliding_window_pattern"), windowed);
  EXPECT_EQ(truths(config, "rope.rotated_layers"), windowed);
  EXPECT_EQ(value<int64_t>(config, "feed_forward_length"), 40);
  EXPECT_EQ(value<int64_t>(config, "expert_feed_forward_length"), 24);
  EXPECT_EQ(value<int64_t>(config, "expert_gating_func"), 2);
  EXPECT_FALSE(value<bool>(config, "expert_shared_average"));
  json["prefix_dense_intermediate_size"] = nullptr;
  EXPECT_EQ(value<int64_t>(read(json), "feed_forward_length"), 24);
}

TEST(HfPrefixed, WhatIsNotSupportedIsNamed) {
  for (const auto& [key, wrong] :
       {std::pair<const char*, Json>{"shared_expert_combination_strategy", "product"},
        {"expert_selection_fn", "topk"},
        {"sliding_window", nullptr},
        {"rope_scaling", {{"type", "linear"}}},
        {"rms_norm_eps", 1e-5},
        {"layer_types", {"linear_attention"}}}) {
    Json json = prefixed();
    json[key] = wrong;
    EXPECT_NE(error_of(json).find(key), std::string::npos) << key << ": " << error_of(json);
  }
}

TEST(HfPrefixed, ASharedExpertOfAnotherWidthIsNamed) {
  Json json = {{"model_type", "bailing_moe"},
               {"architectures", {"BailingMoeV2ForCausalLM"}},
               {"hidden_size", 64},
               {"intermediate_size", 96},
               {"moe_intermediate_size", 24},
               {"moe_shared_expert_intermediate_size", 24},
               {"num_hidden_layers", 2},
               {"num_attention_heads", 4},
               {"num_experts", 8},
               {"num_experts_per_tok", 2},
               {"num_shared_experts", 1},
               {"score_function", "sigmoid"},
               {"first_k_dense_replace", 1},
               {"vocab_size", 100}};
  EXPECT_EQ(error_of(json), "");
  json["moe_shared_expert_intermediate_size"] = 25;
  EXPECT_NE(error_of(json).find("moe_shared_expert_intermediate_size"), std::string::npos);
}

}  // namespace
}  // namespace ruv::hf_prefixed_test
