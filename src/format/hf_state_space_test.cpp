// Keys of selective scans: defaults, what follows from other keys, and what is refused.
#include <gtest/gtest.h>

#include "base/json.h"
#include "format/hf_config.h"

namespace ruv {
namespace {

Json scan(std::string_view model_type) {
  return {{"model_type", model_type},
          {"hidden_size", 64},
          {"num_hidden_layers", 4},
          {"vocab_size", 100}};
}

// A value of the config's metadata; nothing where it has none.
template <class T>
std::optional<T> value(const Json& config, std::string_view key) {
  const auto parsed = parse_hf_config(config.dump(), "config.json");
  EXPECT_TRUE(parsed) << parsed.error().message();
  if (!parsed) return std::nullopt;
  EXPECT_EQ(parsed->faults.first().message(), "");
  const auto found = parsed->metadata.find(fmt::format("{}.{}", parsed->architecture, key));
  const T* const typed = found == parsed->metadata.end() ? nullptr : std::get_if<T>(&found->second);
  return typed == nullptr ? std::nullopt : std::optional<T>(*typed);
}
std::optional<int64_t> size(const Json& config, std::string_view key) {
  return value<int64_t>(config, key);
}
std::vector<double> numbers(const Json& config, std::string_view key) {
  const auto array = value<std::shared_ptr<const MetaArray>>(config, key);
  return array ? (*array)->numbers : std::vector<double>();
}

bool is_refused(const Json& config, std::string_view key) {
  const auto parsed = parse_hf_config(config.dump(), "config.json");
  const std::string error = !parsed ? parsed.error().message() : parsed->faults.first().message();
  return error.find(fmt::format("'{}'", key)) != error.npos;
}

TEST(HfStateSpaceKeys, ColumnsHaveTheSizesOfTheClass) {
  Json config = scan("mamba");
  EXPECT_EQ(size(config, "ssm.inner_size"), 128);
  EXPECT_EQ(size(config, "ssm.state_size"), 16);
  EXPECT_EQ(size(config, "ssm.conv_kernel"), 4);
  EXPECT_EQ(size(config, "ssm.time_step_rank"), 4);
  EXPECT_EQ(size(config, "feed_forward_length"), 0);
  EXPECT_EQ(size(config, "attention.head_count"), 0);
  EXPECT_EQ(value<bool>(config, "conv_bias"), true);
  EXPECT_EQ(value<bool>(config, "ssm_bias"), false);
  EXPECT_EQ(value<bool>(config, "ssm.dt_b_c_rms"), std::nullopt);
  config["hidden_size"] = 65;
  EXPECT_EQ(size(config, "ssm.time_step_rank"), 5);
  config["time_step_rank"] = 3;
  config["intermediate_size"] = 40;
  EXPECT_EQ(size(config, "ssm.time_step_rank"), 3);
  EXPECT_EQ(size(config, "ssm.inner_size"), 40);
}

TEST(HfStateSpaceKeys, FalconMambaNormalises) {
  Json config = scan("falcon_mamba");
  EXPECT_EQ(value<bool>(config, "ssm.dt_b_c_rms"), true);
  EXPECT_EQ(value<double>(config, "ssm.dt_b_c_rms_epsilon"), 1e-6);
  config["mixer_rms_eps"] = -1;
  EXPECT_TRUE(is_refused(config, "mixer_rms_eps"));
}

TEST(HfStateSpaceKeys, HeadsMakeTheColumns) {
  Json config = scan("mamba2");
  config["num_heads"] = 8;
  config["head_dim"] = 16;
  EXPECT_EQ(size(config, "ssm.time_step_rank"), 8);
  EXPECT_EQ(size(config, "ssm.group_count"), 8);
  EXPECT_EQ(size(config, "ssm.inner_size"), 128);
  config["head_dim"] = 8;
  EXPECT_TRUE(is_refused(config, "head_dim"));
  config["num_heads"] = 7;
  EXPECT_TRUE(is_refused(config, "num_heads"));
}

TEST(HfStateSpaceKeys, StepsMayBeLimited) {
  Json config = scan("mamba2");
  config["num_heads"] = 8;
  config["head_dim"] = 16;
  EXPECT_TRUE(numbers(config, "ssm.time_step_limit").empty());
  config["time_step_limit"] = Json({0.0, {{"__float__", "Infinity"}}});
  EXPECT_TRUE(numbers(config, "ssm.time_step_limit").empty());
  config["time_step_limit"] = Json({0.25, 0.5});
  EXPECT_EQ(numbers(config, "ssm.time_step_limit"), (std::vector<double>{0.25, 0.5}));
  for (const Json& wrong : {Json(nullptr), Json({0.5}), Json({0.5, 0.25}), Json({0.5, "x"})}) {
    config["time_step_limit"] = wrong;
    EXPECT_TRUE(is_refused(config, "time_step_limit")) << wrong.dump();
  }
}

TEST(HfStateSpaceKeys, LayersMayBeHalvesOfABlock) {
  Json config = scan("nemotron_h");
  config["intermediate_size"] = 96;
  config["hybrid_override_pattern"] = "M-*M";
  const auto integers = [&](std::string_view key) {
    const auto array = value<std::shared_ptr<const MetaArray>>(config, key);
    return array ? (*array)->integers : std::vector<int64_t>();
  };
  EXPECT_EQ(integers("feed_forward_length"), (std::vector<int64_t>{0, 96, 0, 0}));
  EXPECT_EQ(integers("attention.head_count_kv"), (std::vector<int64_t>{0, 0, 8, 0}));
  EXPECT_EQ(size(config, "ssm.inner_size"), 128 * 64);
  EXPECT_EQ(numbers(config, "ssm.time_step_limit").front(), 0.001);
  config["hybrid_override_pattern"] = "M-*";
  EXPECT_TRUE(is_refused(config, "num_hidden_layers"));
  config["hybrid_override_pattern"] = "M-*X";
  EXPECT_TRUE(is_refused(config, "hybrid_override_pattern"));
  config["layers_block_type"] = Json({"mamba", "mlp", "attention", "conv"});
  EXPECT_TRUE(is_refused(config, "layers_block_type"));
  config["layers_block_type"] = Json({"mamba", "mlp", "mlp", "linear_attention"});
  EXPECT_EQ(integers("feed_forward_length"), (std::vector<int64_t>{0, 96, 96, 0}));
}

TEST(HfStateSpaceKeys, HalvesMayBeExperts) {
  Json config = scan("nemotron_h");
  config["hybrid_override_pattern"] = "ME*E";
  config["moe_latent_size"] = 24;
  const auto array = [&](std::string_view key) {
    return *value<std::shared_ptr<const MetaArray>>(config, key);
  };
  EXPECT_EQ(value<std::string>(config, "hidden_act"), "relu2");
  EXPECT_EQ(parse_hf_config(config.dump(), "config.json")->architecture, "nemotron_h_moe");
  EXPECT_EQ(array("feed_forward_length")->integers, (std::vector<int64_t>{0, 7688, 0, 7688}));
  EXPECT_EQ(array("expert_layers")->bools, (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(size(config, "expert_count"), 8);
  EXPECT_EQ(size(config, "moe_latent_size"), 24);
  EXPECT_EQ(size(config, "expert_shared_feed_forward_length"), 7688);
  EXPECT_EQ(size(config, "expert_gating_func"), 2);
  config["moe_shared_expert_intermediate_size"] = 0;
  EXPECT_TRUE(is_refused(config, "moe_shared_expert_intermediate_size"));
  config["hybrid_override_pattern"] = "MM**";
  EXPECT_EQ(size(config, "expert_count"), std::nullopt);
  EXPECT_EQ(parse_hf_config(config.dump(), "config.json")->architecture, "nemotron_h");
}

TEST(HfStateSpaceKeys, FactorsOfFalconH1AreKept) {
  Json config = scan("falcon_h1");
  config["intermediate_size"] = 96;
  config["num_attention_heads"] = 4;
  config["num_key_value_heads"] = 2;
  config["key_multiplier"] = 0.5;
  config["ssm_multipliers"] = Json({1.0, 2.0, 3.0, 4.0, 5.0});
  config["ssm_out_multiplier"] = 0.25;
  EXPECT_EQ(value<double>(config, "attention.key_scale"), 0.5);
  EXPECT_EQ(numbers(config, "ssm.scales"), (std::vector<double>{1, 0.25, 1, 2, 3, 4, 5}));
  EXPECT_EQ(numbers(config, "feed_forward.scales"), (std::vector<double>{1, 1}));
  config["mlp_multipliers"] = Json({1.0});
  EXPECT_TRUE(is_refused(config, "mlp_multipliers"));
}

}  // namespace
}  // namespace ruv
