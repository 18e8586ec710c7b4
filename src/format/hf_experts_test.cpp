// What configs say of experts: their numbers, their layers, how they are chosen and weighted.
#include <gtest/gtest.h>

#include "base/json.h"
#include "format/hf_config.h"

namespace ruv {
namespace {

Json small(std::string_view hf_class) {
  return {{"architectures", {hf_class}},    {"hidden_size", 64},        {"intermediate_size", 96},
          {"num_hidden_layers", 4},         {"num_attention_heads", 4}, {"num_key_value_heads", 2},
          {"max_position_embeddings", 512}, {"vocab_size", 100}};
}

// What a config means; or a refusal.
class Meaning {
 public:
  explicit Meaning(const Json& json) : parsed_(parse_hf_config(json.dump(), "config.json")) {}

  std::string error() const {
    if (!parsed_) return parsed_.error().message();
    return parsed_->faults.first().message();
  }
  template <class T>
  T value(std::string_view key) const {
    const auto found = parsed_->metadata.find(fmt::format("{}.{}", parsed_->architecture, key));
    return found == parsed_->metadata.end() ? T() : std::get<T>(found->second);
  }
  int64_t integer(std::string_view key) const { return value<int64_t>(key); }
  // "DS": a dense layer, then one with experts.
  std::string layers() const {
    std::string text;
    for (const bool sparse : value<std::shared_ptr<const MetaArray>>("expert_layers")->bools) {
      text += sparse ? 'S' : 'D';
    }
    return text;
  }
  bool has(std::string_view gguf_name) const { return parsed_->has_tensor(gguf_name); }

 private:
  Result<HfConfig> parsed_;
};

TEST(HfExperts, Qwen2MoeSharesOne) {
  const Meaning config(small("Qwen2MoeForCausalLM"));
  EXPECT_EQ(config.error(), "");
  EXPECT_EQ(config.integer("expert_count"), 60);
  EXPECT_EQ(config.integer("expert_used_count"), 4);
  EXPECT_EQ(config.integer("expert_feed_forward_length"), 1408);
  EXPECT_EQ(config.integer("expert_shared_feed_forward_length"), 5632);
  EXPECT_EQ(config.integer("expert_gating_func"), 1);
  EXPECT_FALSE(config.value<bool>("expert_weights_norm"));
  EXPECT_EQ(config.layers(), "SSSS");
  EXPECT_FALSE(config.has("blk.0.exp_probs_b.bias"));
  EXPECT_FALSE(config.has("blk.0.ffn_gate_inp.bias"));
}

// Layers of latent attention and of linear attention, by lists that count from 1 or by kinds.
TEST(HfExperts, KimiLinearHasAnObjectForItsLayers) {
  Json json = small("KimiLinearForCausalLM");
  json["model_type"] = "kimi_linear";
  json["num_key_value_heads"] = 4;
  json["moe_renormalize"] = false;
  json["num_experts_per_token"] = 3;
  json["linear_attn_config"] = {{"full_attn_layers", {2, 4}},
                                {"kda_layers", {1, 3}},
                                {"head_dim", 24},
                                {"num_heads", 5},
                                {"short_conv_kernel_size", 3}};
  const auto layers = [](const Meaning& config) {
    return config.value<std::shared_ptr<const MetaArray>>("attention.head_count_kv")->integers;
  };
  const Meaning config(json);
  EXPECT_EQ(config.error(), "");
  EXPECT_EQ(layers(config), (std::vector<int64_t>{0, 4, 0, 4}));
  EXPECT_EQ(config.integer("kda.head_dim"), 24);
  EXPECT_EQ(config.integer("ssm.group_count"), 5);
  EXPECT_EQ(config.integer("ssm.conv_kernel"), 3);
  EXPECT_EQ(config.integer("expert_used_count"), 3);
  EXPECT_FALSE(config.value<bool>("expert_weights_norm"));
  EXPECT_EQ(config.layers(), "DSSS");
  json["linear_attn_config"]["kda_layers"] = {1};
  EXPECT_NE(Meaning(json).error().find("linear_attn_config.full_attn_layers"), std::string::npos);
  json["linear_attn_config"]["kda_layers"] = {1, 3, 5};
  EXPECT_NE(Meaning(json).error().find("linear_attn_config.kda_layers"), std::string::npos);
  json["linear_attn_config"]["other"] = 1;
  EXPECT_NE(Meaning(json).error().find("linear_attn_config.other"), std::string::npos);
  json.erase("linear_attn_config");
  EXPECT_EQ(layers(Meaning(json)), (std::vector<int64_t>{0, 0, 0, 0}));
  json["layer_types"] = {"full_attention", "linear_attention", "linear_attention",
                         "full_attention"};
  EXPECT_EQ(layers(Meaning(json)), (std::vector<int64_t>{4, 0, 0, 4}));
}

TEST(HfExperts, Dots1HasGroupsAndDenseLayersFirst) {
  Json json = small("Dots1ForCausalLM");
  json["n_routed_experts"] = 8;
  json["num_experts_per_tok"] = 2;
  json["n_shared_experts"] = 2;
  json["moe_intermediate_size"] = 24;
  json["first_k_dense_replace"] = 3;
  json["n_group"] = 4;
  json["topk_group"] = 2;
  json["routed_scaling_factor"] = 2.5;
  const Meaning config(json);
  EXPECT_EQ(config.error(), "");
  EXPECT_EQ(config.integer("expert_gating_func"), 2);
  EXPECT_EQ(config.integer("expert_group_count"), 4);
  EXPECT_EQ(config.integer("expert_group_used_count"), 2);
  EXPECT_EQ(config.integer("expert_shared_count"), 2);
  EXPECT_EQ(config.integer("expert_shared_feed_forward_length"), 48);
  EXPECT_EQ(config.integer("leading_dense_block_count"), 3);
  EXPECT_EQ(config.value<double>("expert_weights_scale"), 2.5);
  EXPECT_EQ(config.layers(), "DDDS");
  EXPECT_TRUE(config.has("blk.3.exp_probs_b.bias"));
  json["n_shared_experts"] = 1 << 30;
  EXPECT_NE(Meaning(json).error().find("n_shared_experts"), std::string::npos);
}

TEST(HfExperts, ErnieHasThemInAnInterval) {
  Json json = small("Ernie4_5_MoeForCausalLM");
  EXPECT_EQ(Meaning(json).layers(), "DSSS");
  json["moe_layer_end_index"] = 2;
  EXPECT_EQ(Meaning(json).layers(), "DSSD");
  json["moe_layer_interval"] = 2;
  EXPECT_EQ(Meaning(json).layers(), "DSDD");
  json["moe_layer_end_index"] = -1;
  EXPECT_EQ(Meaning(json).layers(), "DSDS");
  json["moe_layer_end_index"] = -2;
  EXPECT_NE(Meaning(json).error().find("moe_layer_end_index"), std::string::npos);
}

TEST(HfExperts, ExaoneNamesTheKindOfEachLayer) {
  Json json = small("ExaoneMoeForCausalLM");
  EXPECT_EQ(Meaning(json).layers(), "DSSS");
  json["mlp_layer_types"] = {"sparse", "dense", "dense", "sparse"};
  EXPECT_EQ(Meaning(json).layers(), "SDDS");
  json["mlp_layer_types"] = {"sparse", "dense"};
  EXPECT_NE(Meaning(json).error().find("mlp_layer_types"), std::string::npos);
  json["mlp_layer_types"] = {"sparse", "dense", "dense", "linear"};
  EXPECT_NE(Meaning(json).error().find("mlp_layer_types"), std::string::npos);
}

TEST(HfExperts, HunyuanMayCountThemByLayer) {
  Json json = small("HunYuanMoEV1ForCausalLM");
  json["num_experts"] = 8;
  json["moe_topk"] = {2, 2, 2, 2};
  EXPECT_EQ(Meaning(json).integer("expert_used_count"), 2);
  EXPECT_EQ(Meaning(json).integer("expert_shared_feed_forward_length"), 96);
  for (const Json& wrong :
       {Json({2, 2, 2, 3}), Json::array(), Json({-1, -1}), Json::array({"2"})}) {
    json["moe_topk"] = wrong;
    EXPECT_NE(Meaning(json).error().find("moe_topk"), std::string::npos) << wrong.dump();
  }
}

TEST(HfExperts, WhetherABiasChoosesIsSaid) {
  Json json = small("Lfm2MoeForCausalLM");
  json["layer_types"] = {"conv", "conv", "full_attention", "conv"};
  EXPECT_TRUE(Meaning(json).has("blk.2.exp_probs_b.bias"));
  EXPECT_EQ(Meaning(json).layers(), "DDSS");
  json["use_expert_bias"] = false;
  EXPECT_FALSE(Meaning(json).has("blk.2.exp_probs_b.bias"));
}

TEST(HfExperts, ModelsOfExpertsAloneNeedNoOtherWidth) {
  Json json = small("SolarOpenForCausalLM");
  json.erase("intermediate_size");
  json["moe_intermediate_size"] = 24;
  EXPECT_EQ(Meaning(json).error(), "");
  EXPECT_EQ(Meaning(json).integer("feed_forward_length"), 24);
  Json dense = small("Dots1ForCausalLM");
  dense.erase("intermediate_size");
  EXPECT_NE(Meaning(dense).error().find("intermediate_size"), std::string::npos);
}

TEST(HfExperts, DbrxHasItsSettingsInTwoObjects) {
  Json json = {{"model_type", "dbrx"},
               {"d_model", 64},
               {"n_heads", 4},
               {"n_layers", 2},
               {"attn_config", {{"kv_n_heads", 2}, {"clip_qkv", 8}, {"rope_theta", 5e5}}},
               {"ffn_config",
                {{"ffn_hidden_size", 48},
                 {"moe_num_experts", 6},
                 {"moe_top_k", 3},
                 {"ffn_act_fn", {{"name", "gelu"}}}}}};
  const Meaning config(json);
  EXPECT_EQ(config.error(), "");
  EXPECT_EQ(config.integer("attention.head_count_kv"), 2);
  EXPECT_EQ(config.value<double>("attention.clamp_kqv"), 8);
  EXPECT_EQ(config.value<double>("rope.freq_base"), 5e5);
  EXPECT_EQ(config.integer("expert_count"), 6);
  EXPECT_EQ(config.integer("expert_used_count"), 3);
  EXPECT_EQ(config.integer("expert_feed_forward_length"), 48);
  EXPECT_EQ(config.value<std::string>("hidden_act"), "gelu");
  EXPECT_TRUE(config.value<bool>("expert_weights_norm"));
  json["ffn_config"]["moe_normalize_expert_weights"] = nullptr;
  EXPECT_FALSE(Meaning(json).value<bool>("expert_weights_norm"));
  json["ffn_config"]["moe_normalize_expert_weights"] = 2;
  EXPECT_NE(Meaning(json).error().find("'ffn_config.moe_normalize_expert_weights'"),
            std::string::npos);
}

}  // namespace
}  // namespace ruv
