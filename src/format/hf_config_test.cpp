// config.json of every family, old and new form, and what is refused. Values follow the configs
// that models are published with.
#include "format/hf_config.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "fault/damage.h"

namespace ruv::hf_config_test {
namespace {

Json small(std::string_view hf_class) {
  return {{"architectures", {hf_class}},   {"hidden_size", 64},        {"intermediate_size", 96},
          {"num_hidden_layers", 6},        {"num_attention_heads", 4}, {"vocab_size", 100},
          {"max_position_embeddings", 512}};
}

HfConfig parse(const Json& config) {
  auto parsed = parse_hf_config(config.dump(), "config.json");
  EXPECT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed ? parsed->faults.first().message() : "", "");
  return parsed ? std::move(*parsed) : HfConfig();
}

std::string error_of(std::string_view text) {
  const auto parsed = parse_hf_config(text, "config.json");
  if (!parsed) return parsed.error().message();
  return parsed->faults.empty() ? "no error" : parsed->faults.first().message();
}

template <class T>
T value(const HfConfig& config, std::string_view key) {
  const auto found = config.metadata.find(fmt::format("{}.{}", config.architecture, key));
  EXPECT_NE(found, config.metadata.end()) << key;
  if (found == config.metadata.end()) return T();
  EXPECT_TRUE(std::holds_alternative<T>(found->second)) << key;
  return std::holds_alternative<T>(found->second) ? std::get<T>(found->second) : T();
}
int64_t integer(const HfConfig& config, std::string_view key) {
  return value<int64_t>(config, key);
}
double number(const HfConfig& config, std::string_view key) { return value<double>(config, key); }
std::string text(const HfConfig& config, std::string_view key) {
  return value<std::string>(config, key);
}
std::vector<bool> layers_with_experts(const HfConfig& config) {
  return value<std::shared_ptr<const MetaArray>>(config, "expert_layers")->bools;
}
bool has(const HfConfig& config, std::string_view key) {
  return config.metadata.contains(fmt::format("{}.{}", config.architecture, key));
}

TEST(HfConfig, EveryKeyThatIsRefusedIsNamed) {
  Json json = small("LlamaForCausalLM");
  json["rope_scaling"] = {{"rope_type", "mystery"}, {"factor", 2.0}};
  json["quantization_config"] = {{"quant_method", "quip"}};
  const auto parsed = parse_hf_config(json.dump(), "config.json");
  ASSERT_TRUE(parsed) << parsed.error().message();
  ASSERT_EQ(parsed->faults.all().size(), 2U);
  EXPECT_NE(parsed->faults.all()[0].message().find("'rope_scaling.rope_type'"), std::string::npos);
  EXPECT_NE(parsed->faults.all()[1].message().find(
                R"('quantization_config' is {"quant_method": "quip", …}, which is not supported)"),
            std::string::npos);
  EXPECT_EQ(parsed->hf->model_type, "llama");
}

TEST(HfConfig, Llama) {
  Json json = small("LlamaForCausalLM");
  json["num_key_value_heads"] = 2;
  json["rms_norm_eps"] = 1e-5;
  json["rope_theta"] = 500000;
  const HfConfig config = parse(json);
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(integer(config, "block_count"), 6);
  EXPECT_EQ(integer(config, "embedding_length"), 64);
  EXPECT_EQ(integer(config, "feed_forward_length"), 96);
  EXPECT_EQ(integer(config, "context_length"), 512);
  EXPECT_EQ(integer(config, "vocab_size"), 100);
  EXPECT_EQ(integer(config, "attention.head_count"), 4);
  EXPECT_EQ(integer(config, "attention.head_count_kv"), 2);
  EXPECT_EQ(integer(config, "attention.key_length"), 16);
  EXPECT_EQ(integer(config, "rope.dimension_count"), 16);
  EXPECT_EQ(number(config, "attention.layer_norm_rms_epsilon"), 1e-5);
  EXPECT_EQ(number(config, "rope.freq_base"), 500000);
  EXPECT_EQ(text(config, "hidden_act"), "silu");
  EXPECT_FALSE(config.tied_embeddings);
  EXPECT_FALSE(config.family->norms_minus_one);
  EXPECT_FALSE(has(config, "attention.sliding_window"));
  EXPECT_FALSE(has(config, "rope.scaling.type"));
}

TEST(HfConfig, Llama3ScalingInBothForms) {
  const Json scaling = {{"rope_type", "llama3"},
                        {"factor", 32.0},
                        {"low_freq_factor", 1.0},
                        {"high_freq_factor", 4.0},
                        {"original_max_position_embeddings", 8192}};
  Json old_form = small("LlamaForCausalLM");
  old_form["rope_theta"] = 500000.0;
  old_form["rope_scaling"] = scaling;
  Json new_form = small("LlamaForCausalLM");
  new_form["rope_parameters"] = scaling;
  new_form["rope_parameters"]["rope_theta"] = 500000.0;
  for (const Json& json : {old_form, new_form}) {
    const HfConfig config = parse(json);
    EXPECT_EQ(text(config, "rope.scaling.type"), "llama3");
    EXPECT_EQ(number(config, "rope.scaling.factor"), 32);
    EXPECT_EQ(number(config, "rope.scaling.low_freq_factor"), 1);
    EXPECT_EQ(number(config, "rope.scaling.high_freq_factor"), 4);
    EXPECT_EQ(integer(config, "rope.scaling.original_context_length"), 8192);
    EXPECT_EQ(number(config, "rope.freq_base"), 500000);
  }
}

std::vector<int64_t> kv_heads(const Json& json) {
  const HfConfig config = parse(json);
  const auto found = config.metadata.find("lfm2.attention.head_count_kv");
  if (found == config.metadata.end()) return {};
  return std::get<std::shared_ptr<const MetaArray>>(found->second)->integers;
}

TEST(HfConfig, LayersOfLfm2AreConvolutionsOrAttention) {
  using Counts = std::vector<int64_t>;
  Json json = small("Lfm2ForCausalLM");
  json["num_hidden_layers"] = 3;
  EXPECT_EQ(kv_heads(json), (Counts{8, 8, 8}));
  json["full_attn_idxs"] = Json::array({1, 7, 1});
  EXPECT_EQ(kv_heads(json), (Counts{0, 8, 0}));
  json["layer_types"] = Json::array({"conv", "conv", "full_attention"});
  json["num_key_value_heads"] = 2;
  EXPECT_EQ(kv_heads(json), (Counts{0, 0, 2}));
  const HfConfig config = parse(json);
  EXPECT_EQ(config.faults.first().message(), "");
  EXPECT_EQ(integer(config, "shortconv.l_cache"), 3);
  EXPECT_EQ(number(config, "attention.layer_norm_rms_epsilon"), 1e-5);
  EXPECT_EQ(number(config, "rope.freq_base"), 1e6);
  EXPECT_TRUE(config.tied_embeddings);
  EXPECT_FALSE(config.has_tensor("blk.0.shortconv.conv.bias"));
  json["conv_L_cache"] = 5;
  json["conv_bias"] = true;
  json["tie_embedding"] = false;
  EXPECT_EQ(integer(parse(json), "shortconv.l_cache"), 5);
  EXPECT_TRUE(parse(json).has_tensor("blk.0.shortconv.conv.bias"));
  EXPECT_FALSE(parse(json).tied_embeddings);
  json["layer_types"] = Json::array({"conv", "sliding_attention", "conv"});
  EXPECT_NE(error_of(json.dump()).find("has the kind \"sliding_attention\""), std::string::npos);
  json["layer_types"] = Json::array({"conv"});
  EXPECT_NE(error_of(json.dump()).find("one text for each layer"), std::string::npos);
}

TEST(HfConfig, LayersOfQwen35AreLinearAttentionOrAttention) {
  Json json = small("Qwen3_5ForCausalLM");
  const HfConfig plain = parse(json);
  EXPECT_EQ(integer(plain, "full_attention_interval"), 4);
  EXPECT_EQ(integer(plain, "attention.head_count_kv"), 4);
  EXPECT_EQ(integer(plain, "attention.key_length"), 256);
  EXPECT_EQ(integer(plain, "rope.dimension_count"), 64);
  EXPECT_EQ(integer(plain, "ssm.conv_kernel"), 4);
  EXPECT_EQ(integer(plain, "ssm.group_count"), 16);
  EXPECT_EQ(integer(plain, "ssm.time_step_rank"), 32);
  EXPECT_EQ(integer(plain, "ssm.state_size"), 128);
  EXPECT_EQ(integer(plain, "ssm.inner_size"), 32 * 128);
  EXPECT_TRUE(plain.has_tensor("blk.0.ssm_dt.bias"));
  json["full_attention_interval"] = 3;
  json["linear_num_value_heads"] = 6;
  json["linear_value_head_dim"] = 8;
  EXPECT_EQ(integer(parse(json), "full_attention_interval"), 3);
  EXPECT_EQ(integer(parse(json), "ssm.inner_size"), 48);
  const auto with_types = [&](std::initializer_list<const char*> types) {
    json["layer_types"] = Json::array();
    for (const char* type : types) json["layer_types"].push_back(type);
    return parse(json);
  };
  json["num_hidden_layers"] = 3;
  constexpr const char *kLinear = "linear_attention", *kFull = "full_attention";
  EXPECT_EQ(integer(with_types({kLinear, kFull, kLinear}), "full_attention_interval"), 2);
  EXPECT_EQ(integer(with_types({kLinear, kLinear, kLinear}), "full_attention_interval"), 4);
  const auto counts = value<std::shared_ptr<const MetaArray>>(with_types({kFull, kLinear, kLinear}),
                                                              "attention.head_count_kv");
  ASSERT_NE(counts, nullptr);
  EXPECT_EQ(counts->integers, (std::vector<int64_t>{4, 0, 0}));
  json["layer_types"] = Json::array({kLinear, "sliding_attention", kLinear});
  EXPECT_NE(error_of(json.dump()).find("has the kind \"sliding_attention\""), std::string::npos);
}

TEST(HfConfig, RwkvHasNoHeads) {
  Json json = {{"architectures", {"RwkvForCausalLM"}},
               {"hidden_size", 64},
               {"num_hidden_layers", 6},
               {"vocab_size", 100}};
  const HfConfig plain = parse(json);
  EXPECT_EQ(integer(plain, "feed_forward_length"), 256);
  EXPECT_EQ(integer(plain, "time_mix.inner_size"), 64);
  EXPECT_EQ(integer(plain, "context_length"), 1024);
  EXPECT_EQ(integer(plain, "rescale_every_n_layers"), 6);
  EXPECT_EQ(number(plain, "attention.layer_norm_epsilon"), 1e-5);
  EXPECT_FALSE(has(plain, "attention.head_count"));
  json["rescale_every"] = 0;
  json["attention_hidden_size"] = 48;
  json["intermediate_size"] = 100;
  EXPECT_FALSE(has(parse(json), "rescale_every_n_layers"));
  EXPECT_EQ(integer(parse(json), "time_mix.inner_size"), 48);
  EXPECT_EQ(integer(parse(json), "feed_forward_length"), 100);
}

TEST(HfConfig, LayersOfRecurrentGemmaRepeatAPattern) {
  Json json = small("RecurrentGemmaForCausalLM");
  json["num_attention_heads"] = 4;
  const auto counts = [&](const HfConfig& config) {
    return value<std::shared_ptr<const MetaArray>>(config, "attention.head_count_kv")->integers;
  };
  const HfConfig plain = parse(json);
  EXPECT_EQ(counts(plain), (std::vector<int64_t>{0, 0, 4, 0, 0, 4}));
  EXPECT_EQ(integer(plain, "feed_forward_length"), 48);  // gate and up
  EXPECT_EQ(integer(plain, "recurrence.inner_size"), 64);
  EXPECT_EQ(integer(plain, "recurrence.conv_kernel"), 4);
  EXPECT_EQ(integer(plain, "attention.sliding_window"), 2048);
  EXPECT_EQ(integer(plain, "rope.dimension_count"), 8);
  EXPECT_EQ(number(plain, "final_logit_softcapping"), 30);
  EXPECT_TRUE(plain.tied_embeddings);
  json["block_types"] = Json::array({"attention", "recurrent"});
  json["lru_width"] = 40;
  EXPECT_EQ(counts(parse(json)), (std::vector<int64_t>{4, 0, 4, 0, 4, 0}));
  EXPECT_EQ(integer(parse(json), "recurrence.inner_size"), 40);
  json["block_types"] = Json::array({"attention", "x"});
  EXPECT_NE(error_of(json.dump()).find("has the kind \"x\""), std::string::npos);
  json["block_types"] = Json::array();
  EXPECT_NE(error_of(json.dump()).find("is not an array of texts"), std::string::npos);
}

TEST(HfConfig, TheFeedForwardOfLfm2IsRoundedToBlocks) {
  Json json = small("Lfm2ForCausalLM");
  const auto width = [&] { return integer(parse(json), "feed_forward_length"); };
  json["intermediate_size"] = 100;
  EXPECT_EQ(width(), 256);
  json["block_multiple_of"] = 8;
  EXPECT_EQ(width(), 72);  // 66
  json["block_ffn_dim_multiplier"] = 1.5;
  EXPECT_EQ(width(), 104);  // 99
  json["block_ff_dim"] = 50;
  EXPECT_EQ(width(), 56);  // 49
  json["block_auto_adjust_ff_dim"] = false;
  EXPECT_EQ(width(), 50);
  json.erase("block_ff_dim");
  json.erase("intermediate_size");
  EXPECT_EQ(width(), 12288);
  json["block_auto_adjust_ff_dim"] = true;
  json["block_ffn_dim_multiplier"] = 1e300;
  EXPECT_FALSE(parse_hf_config(json.dump(), "config.json"));
}

TEST(HfConfig, WindowsOfMistralAndQwen) {
  Json mistral = small("MistralForCausalLM");
  EXPECT_EQ(integer(parse(mistral), "attention.sliding_window"), 4096);  // the class's default
  EXPECT_EQ(integer(parse(mistral), "attention.head_count_kv"), 8);
  mistral["sliding_window"] = 128;
  EXPECT_EQ(integer(parse(mistral), "attention.sliding_window"), 128);
  EXPECT_FALSE(has(parse(mistral), "attention.sliding_window_pattern"));
  mistral["sliding_window"] = nullptr;
  EXPECT_FALSE(has(parse(mistral), "attention.sliding_window"));

  Json qwen = small("Qwen2ForCausalLM");
  qwen["sliding_window"] = 128;
  qwen["use_sliding_window"] = false;
  EXPECT_FALSE(has(parse(qwen), "attention.sliding_window"));
  qwen["use_sliding_window"] = true;
  qwen["max_window_layers"] = 4;
  const auto pattern =
      value<std::shared_ptr<const MetaArray>>(parse(qwen), "attention.sliding_window_pattern");
  ASSERT_NE(pattern, nullptr);
  EXPECT_EQ(pattern->bools, (std::vector<bool>{false, false, false, false, true, true}));
}

TEST(HfConfig, Gemma) {
  Json json = small("GemmaForCausalLM");
  json["hidden_act"] = "gelu";
  json["head_dim"] = 32;
  const HfConfig config = parse(json);
  EXPECT_EQ(text(config, "hidden_act"), "gelu_pytorch_tanh");
  EXPECT_TRUE(config.tied_embeddings);
  EXPECT_TRUE(config.family->norms_minus_one);
  EXPECT_EQ(integer(config, "attention.value_length"), 32);
}

TEST(HfConfig, Gemma2) {
  Json json = small("Gemma2ForCausalLM");
  json.update({{"attn_logit_softcapping", 50.0},
               {"final_logit_softcapping", 30.0},
               {"query_pre_attn_scalar", 224},
               {"sliding_window", 4096}});
  const HfConfig config = parse(json);
  EXPECT_EQ(number(config, "attn_logit_softcapping"), 50);
  EXPECT_EQ(number(config, "final_logit_softcapping"), 30);
  EXPECT_EQ(number(config, "attention.query_pre_attn_scalar"), 224);
  EXPECT_EQ(integer(config, "attention.sliding_window"), 4096);
  EXPECT_EQ(integer(config, "attention.sliding_window_pattern"), 2);
}

TEST(HfConfig, Gemma3WithinAMultiModalConfigLeavesMuchOut) {
  const Json json = {{"architectures", {"Gemma3ForConditionalGeneration"}},
                     {"text_config",
                      {{"hidden_size", 2560},
                       {"intermediate_size", 10240},
                       {"num_hidden_layers", 34},
                       {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}},
                       {"sliding_window", 1024}}}};
  const HfConfig config = parse(json);
  EXPECT_EQ(config.architecture, "gemma3");
  EXPECT_EQ(integer(config, "attention.head_count"), 8);
  EXPECT_EQ(integer(config, "attention.head_count_kv"), 4);
  EXPECT_EQ(integer(config, "attention.key_length"), 256);
  EXPECT_EQ(integer(config, "context_length"), 131072);
  EXPECT_EQ(integer(config, "attention.sliding_window"), 1024);
  EXPECT_EQ(integer(config, "attention.sliding_window_pattern"), 6);
  EXPECT_EQ(number(config, "rope.freq_base"), 1e6);
  EXPECT_EQ(number(config, "rope.freq_base_swa"), 1e4);
  EXPECT_EQ(text(config, "rope.scaling.type"), "linear");
  EXPECT_FALSE(has(config, "vocab_size"));
}

TEST(HfConfig, Gemma3RopeByKindOfLayer) {
  Json json = small("Gemma3ForCausalLM");
  json["rope_parameters"] = {
      {"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 2e6}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 5000.0}}}};
  Json types = Json::array();
  for (int i = 0; i < 6; ++i) types.push_back(i % 3 == 2 ? "full_attention" : "sliding_attention");
  json["layer_types"] = types;
  const HfConfig config = parse(json);
  EXPECT_EQ(number(config, "rope.freq_base"), 2e6);
  EXPECT_EQ(number(config, "rope.freq_base_swa"), 5000);
  EXPECT_EQ(number(config, "rope.scaling.factor"), 8);
  EXPECT_EQ(integer(config, "attention.sliding_window_pattern"), 3);

  json["layer_types"][0] = "full_attention";
  const auto pattern =
      value<std::shared_ptr<const MetaArray>>(parse(json), "attention.sliding_window_pattern");
  ASSERT_NE(pattern, nullptr);
  EXPECT_EQ(pattern->bools, (std::vector<bool>{false, true, false, true, true, false}));
  json["layer_types"][0] = "linear_attention";
  EXPECT_NE(error_of(json.dump()).find("'layer_types'"), std::string::npos);
}

TEST(HfConfig, Phi3LongRope) {
  Json json = small("Phi3ForCausalLM");
  json["max_position_embeddings"] = 131072;
  json["original_max_position_embeddings"] = 4096;
  json["partial_rotary_factor"] = 0.75;
  json["rope_scaling"] = {{"type", "su"},
                          {"short_factor", {1, 1.5, 2, 2.5, 3, 3.5}},
                          {"long_factor", {2, 2, 2, 2, 2, 64.5}}};
  const HfConfig config = parse(json);
  EXPECT_EQ(text(config, "rope.scaling.type"), "longrope");
  EXPECT_EQ(integer(config, "rope.dimension_count"), 12);
  EXPECT_EQ(integer(config, "rope.scaling.original_context_length"), 4096);
  EXPECT_NEAR(number(config, "rope.scaling.attn_factor"), 1.1902380714238083, 1e-12);
  const auto factors = value<std::shared_ptr<const MetaArray>>(config, "rope.scaling.long_factor");
  ASSERT_NE(factors, nullptr);
  EXPECT_EQ(factors->numbers, (std::vector<double>{2, 2, 2, 2, 2, 64.5}));

  json["rope_scaling"]["long_factor"].push_back(1);
  EXPECT_NE(error_of(json.dump()).find("'rope_scaling.long_factor' is not an array of 6 numbers"),
            std::string::npos);
}

TEST(HfConfig, Gpt2) {
  const HfConfig config = parse({{"architectures", {"GPT2LMHeadModel"}},
                                 {"n_embd", 48},
                                 {"n_layer", 3},
                                 {"n_head", 4},
                                 {"n_positions", 1024},
                                 {"n_inner", nullptr},
                                 {"layer_norm_epsilon", 1e-5},
                                 {"vocab_size", 50257}});
  EXPECT_EQ(integer(config, "feed_forward_length"), 192);
  EXPECT_EQ(integer(config, "attention.head_count_kv"), 4);
  EXPECT_EQ(integer(config, "context_length"), 1024);
  EXPECT_EQ(number(config, "attention.layer_norm_epsilon"), 1e-5);
  EXPECT_EQ(text(config, "hidden_act"), "gelu_new");
  EXPECT_TRUE(config.tied_embeddings);
  EXPECT_FALSE(has(config, "rope.freq_base"));
}

TEST(HfConfig, StarCoder2HasItsOwnNameForTheNormsEpsilon) {
  const HfConfig config = parse({{"architectures", {"Starcoder2ForCausalLM"}},
                                 {"hidden_size", 3072},
                                 {"intermediate_size", 12288},
                                 {"num_hidden_layers", 30},
                                 {"norm_epsilon", 1e-3},
                                 {"sliding_window", 4096}});
  EXPECT_EQ(config.architecture, "starcoder2");
  EXPECT_EQ(integer(config, "attention.key_length"), 128);
  EXPECT_EQ(integer(config, "attention.head_count_kv"), 2);
  EXPECT_EQ(integer(config, "attention.sliding_window"), 4096);
  EXPECT_EQ(number(config, "attention.layer_norm_epsilon"), 1e-3);
  EXPECT_FALSE(has(config, "attention.layer_norm_rms_epsilon"));
  EXPECT_EQ(text(config, "hidden_act"), "gelu_pytorch_tanh");
  EXPECT_TRUE(config.tied_embeddings);
  EXPECT_FALSE(config.family->norms_minus_one);
}

TEST(HfConfig, Mixtral) {
  Json json = small("MixtralForCausalLM");
  json["num_local_experts"] = 4;
  json["num_experts_per_tok"] = 2;
  json["num_key_value_heads"] = 2;
  const HfConfig config = parse(json);
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(integer(config, "expert_count"), 4);
  EXPECT_EQ(integer(config, "expert_used_count"), 2);
  EXPECT_EQ(layers_with_experts(config), std::vector<bool>(6, true));
  json["num_experts"] = 5;
  EXPECT_NE(error_of(json.dump()).find("'num_local_experts' differs from num_experts"),
            std::string::npos);
}

TEST(HfConfig, Qwen3Moe) {
  Json json = small("Qwen3MoeForCausalLM");
  json["num_key_value_heads"] = 2;
  HfConfig config = parse(json);
  EXPECT_EQ(config.architecture, "qwen3moe");
  EXPECT_EQ(integer(config, "expert_count"), 128);
  EXPECT_EQ(integer(config, "expert_used_count"), 8);
  EXPECT_EQ(integer(config, "expert_feed_forward_length"), 768);
  EXPECT_FALSE(value<bool>(config, "expert_weights_norm"));
  EXPECT_FALSE(has(config, "attention.sliding_window"));
  EXPECT_EQ(layers_with_experts(config), std::vector<bool>(6, true));
  json["norm_topk_prob"] = true;
  json["decoder_sparse_step"] = 2;
  json["mlp_only_layers"] = Json::array();
  json["mlp_only_layers"].push_back(3);
  json["mlp_only_layers"].push_back(99);
  json["sliding_window"] = 16;
  json["use_sliding_window"] = true;
  config = parse(json);
  EXPECT_TRUE(value<bool>(config, "expert_weights_norm"));
  EXPECT_EQ(integer(config, "attention.sliding_window"), 16);
  EXPECT_EQ(layers_with_experts(config),
            (std::vector<bool>{false, true, false, false, false, true}));
}

TEST(HfConfig, Qwen3MoeRefusesNumbersOfNoModel) {
  const auto error = [](const char* key, Json value) {
    Json json = small("Qwen3MoeForCausalLM");
    json[key] = std::move(value);
    return error_of(json.dump());
  };
  for (const char* key :
       {"num_experts", "num_experts_per_tok", "moe_intermediate_size", "decoder_sparse_step"}) {
    EXPECT_NE(error(key, 0).find(key), std::string::npos) << key;
    EXPECT_NE(error(key, "2").find(key), std::string::npos) << key;
  }
  EXPECT_NE(error("norm_topk_prob", 1).find("norm_topk_prob"), std::string::npos);
  EXPECT_NE(error("mlp_only_layers", 1).find("mlp_only_layers"), std::string::npos);
  EXPECT_NE(error("mlp_only_layers", {"1"}).find("mlp_only_layers"), std::string::npos);
}

TEST(HfConfig, UnknownArchitectureKeepsItsName) {
  const HfConfig config = parse({{"architectures", {"NoSuchForCausalLM"}}});
  EXPECT_EQ(config.architecture, "NoSuchForCausalLM");
  EXPECT_EQ(config.metadata.size(), 1U);
  EXPECT_EQ(parse({{"model_type", "qwen2"},
                   {"hidden_size", 8},
                   {"num_hidden_layers", 1},
                   {"num_attention_heads", 2},
                   {"intermediate_size", 8}})
                .architecture,
            "qwen2");
}

TEST(HfConfig, NamesWhatIsWrong) {
  const auto with = [](std::string_view key, const Json& value) {
    Json json = small("LlamaForCausalLM");
    json[std::string(key)] = value;
    return error_of(json.dump());
  };
  EXPECT_EQ(with("hidden_size", nullptr), "config.json: 'hidden_size' is null");
  EXPECT_EQ(with("hidden_size", "64"), "config.json: 'hidden_size' is not an integer");
  EXPECT_EQ(with("hidden_size", 64.5), "config.json: 'hidden_size' is not an integer");
  EXPECT_EQ(with("hidden_size", 0), "config.json: 'hidden_size' is 0");
  for (const Json& wild : {Json(-1), Json(int64_t{1} << 31), Json(~uint64_t{0}),
                           Json(std::numeric_limits<int64_t>::min())}) {
    EXPECT_NE(with("num_attention_heads", wild).find("range 0 to 2^31 - 1"), std::string::npos);
  }
  EXPECT_NE(with("num_attention_heads", 65).find("above the hidden size"), std::string::npos);
  EXPECT_NE(with("num_hidden_layers", 1000000).find("above 65536"), std::string::npos);
  EXPECT_NE(with("rope_theta", "x").find("'rope_theta' is not a finite"), std::string::npos);
  EXPECT_NE(with("rope_scaling", "x").find("is not an object"), std::string::npos);
  EXPECT_NE(with("rope_scaling", {{"type", "novel"}, {"factor", 2}}).find("'novel'"),
            std::string::npos);
  EXPECT_NE(with("rope_scaling", {{"type", "linear"}}).find("factor' is missing"),
            std::string::npos);
  EXPECT_NE(with("tie_word_embeddings", 1).find("is not true or false"), std::string::npos);
  EXPECT_NE(with("architectures", {1}).find("'architectures'"), std::string::npos);
  EXPECT_NE(with("architectures", {"a\nb"}).find("not a short text"), std::string::npos);
  EXPECT_NE(with("architectures", {std::string(1000, 'a')}).find("short"), std::string::npos);
  EXPECT_NE(error_of("{}").find("'architectures' is missing"), std::string::npos);
  EXPECT_NE(error_of("[1]").find("not a JSON object"), std::string::npos);
  EXPECT_NE(error_of("{\"a\": 1e999}").find("config.json"), std::string::npos);
}

// Every value below changes the logits of the reference; none may be passed over.
TEST(HfConfig, LongRopeFactorComesBeforeTheRatioOfLengths) {
  Json json = small("LlamaForCausalLM");
  json["rope_scaling"] = {{"type", "longrope"},
                          {"factor", 3.0},
                          {"short_factor", Json::array({1, 1, 1, 1, 1, 1, 1, 1})},
                          {"long_factor", Json::array({2, 2, 2, 2, 2, 2, 2, 2})}};
  HfConfig config = parse(json);
  EXPECT_EQ(integer(config, "rope.scaling.original_context_length"), 512);
  EXPECT_NEAR(number(config, "rope.scaling.attn_factor"),
              std::sqrt(1 + std::log(3.0) / std::log(512.0)), 1e-12);
  json["rope_scaling"]["attention_factor"] = 1.25;
  EXPECT_EQ(number(parse(json), "rope.scaling.attn_factor"), 1.25);
  json["rope_scaling"]["attention_factor"] = nullptr;
  json["rope_scaling"]["factor"] = nullptr;
  json["rope_scaling"]["original_max_position_embeddings"] = 256;
  EXPECT_NEAR(number(parse(json), "rope.scaling.attn_factor"),
              std::sqrt(1 + std::log(2.0) / std::log(256.0)), 1e-12);
}

TEST(HfConfig, OriginalLengthBesideTheScalingWins) {
  Json json = small("LlamaForCausalLM");
  json["original_max_position_embeddings"] = 64;
  json["rope_scaling"] = {{"rope_type", "llama3"},
                          {"factor", 4.0},
                          {"low_freq_factor", 1.0},
                          {"high_freq_factor", 4.0},
                          {"original_max_position_embeddings", 128}};
  EXPECT_EQ(integer(parse(json), "rope.scaling.original_context_length"), 64);
  json.erase("original_max_position_embeddings");
  EXPECT_EQ(integer(parse(json), "rope.scaling.original_context_length"), 128);
}

TEST(HfConfig, RopeScalingComesBeforeRopeParameters) {
  Json json = small("LlamaForCausalLM");
  json["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
  json["rope_parameters"] = {{"rope_type", "linear"}, {"factor", 4.0}, {"rope_theta", 5.0}};
  const HfConfig config = parse(json);
  EXPECT_EQ(number(config, "rope.scaling.factor"), 2);
  EXPECT_EQ(number(config, "rope.freq_base"), 10000);
  ASSERT_EQ(config.remarks.size(), 1U);
  EXPECT_NE(config.remarks[0].find("'rope_parameters'"), std::string::npos);
}

TEST(HfConfig, OnlyPhi3RotatesAPartOfAHead) {
  for (const char* hf_class : {"LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"}) {
    Json json = small(hf_class);
    json["head_dim"] = 16;
    json["partial_rotary_factor"] = 0.5;
    const HfConfig config = parse(json);
    EXPECT_EQ(integer(config, "rope.dimension_count"), 16);
    ASSERT_EQ(config.remarks.size(), 1U);
    EXPECT_EQ(config.remarks[0], "'partial_rotary_factor' (0.5) is not read by this model class");
    json["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
    EXPECT_NE(error_of(json.dump()).find("'partial_rotary_factor' is 0.5 beside"),
              std::string::npos);
  }
  Json phi = small("Phi3ForCausalLM");
  phi["partial_rotary_factor"] = 0.7;  // 11 of 16
  EXPECT_NE(error_of(phi.dump()).find("rotates 11 of"), std::string::npos);
}

TEST(HfConfig, Phi3CallsLongRopeByOldNamesAndKeepsItsLengthOutside) {
  for (const char* type : {"longrope", "su", "yarn"}) {
    Json json = small("Phi3ForCausalLM");
    json["rope_scaling"] = {{"type", type},
                            {"original_max_position_embeddings", 64},
                            {"short_factor", Json::array({1, 1, 1, 1, 1, 1, 1, 1})},
                            {"long_factor", Json::array({2, 2, 2, 2, 2, 2, 2, 2})}};
    const HfConfig config = parse(json);
    EXPECT_EQ(text(config, "rope.scaling.type"), "longrope");
    EXPECT_EQ(integer(config, "rope.scaling.original_context_length"), 4096);
  }
  Json linear = small("Phi3ForCausalLM");
  linear["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
  EXPECT_NE(error_of(linear.dump()).find("'rope_scaling.type' is 'linear'; default and longrope"),
            std::string::npos);
  Json llama = small("LlamaForCausalLM");
  llama["rope_scaling"] = {{"rope_type", "novel"}, {"factor", 2.0}};
  EXPECT_NE(
      error_of(llama.dump())
          .find("'rope_scaling.rope_type' is 'novel'; default, linear, llama3, yarn, dynamic"),
      std::string::npos);
}

TEST(HfConfig, YarnBecomesItsKeysInGguf) {
  Json json = small("LlamaForCausalLM");
  json["rope_scaling"] = {
      {"rope_type", "yarn"}, {"factor", 4.0},        {"original_max_position_embeddings", 32},
      {"beta_fast", 16},     {"beta_slow", nullptr}, {"attention_factor", 1.5},
      {"truncate", false}};
  const HfConfig config = parse(json);
  EXPECT_EQ(text(config, "rope.scaling.type"), "yarn");
  EXPECT_EQ(number(config, "rope.scaling.factor"), 4);
  EXPECT_EQ(integer(config, "rope.scaling.original_context_length"), 32);
  EXPECT_EQ(number(config, "rope.scaling.yarn_beta_fast"), 16);
  EXPECT_FALSE(has(config, "rope.scaling.yarn_beta_slow"));
  EXPECT_DOUBLE_EQ(number(config, "rope.scaling.attn_factor"), 1.5 / (1 + 0.1 * std::log(4.0)));
  EXPECT_TRUE(has(config, "rope.scaling.yarn_truncate"));

  json["rope_scaling"] = {{"rope_type", "yarn"},
                          {"factor", 40.0},
                          {"mscale", 0.7},
                          {"mscale_all_dim", 1.4},
                          {"original_max_position_embeddings", 32}};
  const double both = (1 + 0.07 * std::log(40.0)) / (1 + 0.14 * std::log(40.0));
  EXPECT_DOUBLE_EQ(number(parse(json), "rope.scaling.attn_factor"),
                   both / (1 + 0.1 * std::log(40.0)));
  json["rope_scaling"]["mscale_all_dim"] = 0;
  EXPECT_DOUBLE_EQ(number(parse(json), "rope.scaling.attn_factor"), 1);
  json["rope_scaling"]["factor"] = nullptr;  // 128 positions
  EXPECT_EQ(number(parse(json), "rope.scaling.factor"),
            static_cast<double>(integer(parse(json), "context_length")) / 32);
}

TEST(HfConfig, DynamicScalingEndsWithTheContext) {
  Json json = small("LlamaForCausalLM");
  json["rope_scaling"] = {{"type", "dynamic"}, {"factor", 2.0}};
  const HfConfig config = parse(json);
  EXPECT_TRUE(has(config, "rope.scaling.ends_with_context"));
  EXPECT_FALSE(has(config, "rope.scaling.type"));
  EXPECT_FALSE(has(config, "rope.scaling.factor"));
}

TEST(HfConfig, WindowsThatTheClassDoesNotHaveAreRemarks) {
  Json json = small("LlamaForCausalLM");
  json["sliding_window"] = 8;
  json["use_sliding_window"] = true;
  json["layer_types"] = Json::array({"full_attention", "sliding_attention", "full_attention",
                                     "full_attention", "full_attention", "full_attention"});
  const HfConfig config = parse(json);
  EXPECT_FALSE(has(config, "attention.sliding_window"));
  EXPECT_FALSE(has(config, "attention.sliding_window_pattern"));
  EXPECT_EQ(config.remarks.size(), 3U);
  Json starcoder = small("Starcoder2ForCausalLM");
  starcoder["sliding_window"] = 8;
  starcoder["layer_types"] = json["layer_types"];
  EXPECT_FALSE(has(parse(starcoder), "attention.sliding_window_pattern"));
  Json mistral = small("MistralForCausalLM");
  mistral["sliding_window"] = 0;
  EXPECT_EQ(error_of(mistral.dump()), "config.json: 'sliding_window' is 0");
}

TEST(HfConfig, NullSoftcapsAreNone) {
  Json json = small("Gemma2ForCausalLM");
  EXPECT_FALSE(has(parse(json), "attn_logit_softcapping"));  // the class's default
  json["attn_logit_softcapping"] = nullptr;
  json["final_logit_softcapping"] = nullptr;
  EXPECT_EQ(number(parse(json), "attn_logit_softcapping"), 0);
  EXPECT_EQ(number(parse(json), "final_logit_softcapping"), 0);
  json["attn_logit_softcapping"] = 0.0;
  EXPECT_NE(error_of(json.dump()).find("'attn_logit_softcapping' is not above 0"),
            std::string::npos);
  Json gemma3 = small("Gemma3ForCausalLM");
  gemma3["attn_logit_softcapping"] = 5.0;
  EXPECT_FALSE(has(parse(gemma3), "attn_logit_softcapping"));
}

TEST(HfConfig, QueriesOfGemmaAreScaledBy256UnlessItSays) {
  for (const char* hf_class : {"Gemma2ForCausalLM", "Gemma3ForCausalLM"}) {
    Json json = small(hf_class);
    json["head_dim"] = 14;
    EXPECT_EQ(number(parse(json), "attention.query_pre_attn_scalar"), 256);
  }
}

TEST(HfConfig, Gemma3ScalesPositionsOfEachKindOfLayer) {
  Json json = small("Gemma3ForCausalLM");
  json["rope_parameters"] = {{"full_attention", {{"rope_type", "default"}}},
                             {"sliding_attention", {{"rope_type", "linear"}, {"factor", 4.0}}}};
  EXPECT_EQ(number(parse(json), "rope.scaling.factor_swa"), 4);
  json["rope_parameters"]["sliding_attention"]["rope_type"] = "llama3";
  EXPECT_NE(error_of(json.dump()).find("'rope_parameters.sliding_attention.rope_type' is 'llama3'"),
            std::string::npos);
  json["rope_parameters"] = {{"rope_type", "linear"}, {"factor", 4.0}, {"rope_theta", 5.0}};
  const HfConfig flat = parse(json);
  EXPECT_EQ(number(flat, "rope.freq_base"), 1e6);
  EXPECT_FALSE(has(flat, "rope.scaling.type"));
  EXPECT_EQ(flat.remarks.size(), 1U);
}

TEST(HfConfig, Gpt2ScalesAttentionAsItsConfigSays) {
  Json json = {{"model_type", "gpt2"}, {"n_embd", 48},  {"n_layer", 3},
               {"n_head", 4},          {"head_dim", 7}, {"num_key_value_heads", 2}};
  const HfConfig plain = parse(json);
  EXPECT_EQ(integer(plain, "attention.key_length"), 12);
  EXPECT_EQ(integer(plain, "attention.head_count_kv"), 4);
  EXPECT_FALSE(has(plain, "attention.scale"));
  json["scale_attn_weights"] = false;
  json["scale_attn_by_inverse_layer_idx"] = true;
  EXPECT_EQ(number(parse(json), "attention.scale"), 1);
  EXPECT_TRUE(value<bool>(parse(json), "attention.scale_by_inverse_layer_idx"));
  json["add_cross_attention"] = true;
  EXPECT_NE(error_of(json.dump()).find("'add_cross_attention' is true, which is not supported"),
            std::string::npos);
}

TEST(HfConfig, GemmasActivationHasAnOldNameThatIsNotRead) {
  Json json = small("GemmaForCausalLM");
  json["hidden_act"] = "silu";
  json["hidden_activation"] = "gelu_pytorch_tanh";
  const HfConfig config = parse(json);
  EXPECT_EQ(text(config, "hidden_act"), "silu");
  EXPECT_EQ(config.remarks.size(), 1U);
}

TEST(HfConfig, KeysThatWouldChangeTheNumbersAreRefusedWithTheirValue) {
  const auto refused = [](std::string_view hf_class, std::string_view key, const Json& value) {
    Json json = small(hf_class);
    json[std::string(key)] = value;
    return error_of(json.dump());
  };
  EXPECT_EQ(refused("Gemma3ForCausalLM", "use_bidirectional_attention", nullptr), "no error");
  EXPECT_NE(refused("LlamaForCausalLM", "quantization_config", {{"bits", 4}}).find("is {…}, which"),
            std::string::npos);
  EXPECT_NE(refused("LlamaForCausalLM", "is_causal", false).find("is false"), std::string::npos);
  EXPECT_EQ(refused("LlamaForCausalLM", "is_causal", true), "no error");
  EXPECT_EQ(refused("LlamaForCausalLM", "auto_map", {{"AutoModel", "x.y"}}), "no error");
}

TEST(HfConfig, IgnoredKeysAreTakenAway) {
  Json json = small("LlamaForCausalLM");
  json["is_causal"] = false;
  json["rope_scaling"] = {{"rope_type", "novel"}, {"factor", 2.0}};
  const std::vector<std::string> keys = {"is_causal", "rope_scaling.rope_type", "absent"};
  const auto config = parse_hf_config(json.dump(), "config.json", keys);
  ASSERT_TRUE(config);
  EXPECT_TRUE(config->faults.empty()) << config->faults.first().message();
  EXPECT_EQ(config->ignored, (std::vector<std::string>{"is_causal", "rope_scaling.rope_type"}));
  EXPECT_FALSE(has(*config, "rope.scaling.type"));
}

TEST(HfConfig, ModelTypeDecidesAndHeadlessClassesCount) {
  Json json = small("LlamaModel");
  EXPECT_EQ(parse(json).architecture, "llama");
  json["model_type"] = "llama";
  EXPECT_EQ(parse(json).architecture, "llama");
  json["architectures"] = Json::array({"LlamaForQuestionAnswering"});
  EXPECT_EQ(parse(json).architecture, "LlamaForQuestionAnswering");
  json["architectures"] = Json::array({"Qwen2ForCausalLM"});
  EXPECT_EQ(parse(json).architecture, "llama");
  EXPECT_EQ(parse(json).remarks.size(), 1U);
  json["model_type"] = "custom";
  EXPECT_NE(parse(json).architecture, "llama");
}

TEST(HfConfig, TheTensorsOfAModelClassFollowItsConfig) {
  Json json = small("LlamaForCausalLM");
  EXPECT_FALSE(parse(json).has_tensor("blk.0.attn_q.bias"));
  EXPECT_FALSE(parse(json).has_tensor("blk.0.attn_norm.bias"));
  EXPECT_FALSE(parse(json).has_tensor("output.bias"));
  EXPECT_TRUE(parse(json).has_tensor("blk.5.attn_q.weight"));
  EXPECT_FALSE(parse(json).has_tensor("blk.6.attn_q.weight"));
  json["attention_bias"] = true;
  EXPECT_TRUE(parse(json).has_tensor("blk.0.attn_q.bias"));
  EXPECT_TRUE(parse(json).has_tensor("blk.0.attn_output.bias"));
  EXPECT_FALSE(parse(json).has_tensor("blk.0.ffn_up.bias"));
  const HfConfig qwen = parse(small("Qwen2ForCausalLM"));
  EXPECT_TRUE(qwen.has_tensor("blk.0.attn_k.bias"));
  EXPECT_FALSE(qwen.has_tensor("blk.0.attn_output.bias"));
  Json starcoder = small("Starcoder2ForCausalLM");
  EXPECT_TRUE(parse(starcoder).has_tensor("blk.0.ffn_up.bias"));
  starcoder["use_bias"] = false;
  EXPECT_FALSE(parse(starcoder).has_tensor("blk.0.ffn_up.bias"));
  EXPECT_TRUE(parse(starcoder).has_tensor("blk.0.ffn_norm.bias"));
}

TEST(HfConfigHostile, ManyUnknownKeysAreFewRemarks) {
  Json json = small("LlamaForCausalLM");
  for (int i = 0; i < 1000; ++i) json["unknown" + std::to_string(i)] = i;
  EXPECT_EQ(parse(json).remarks.size(), 65U);
}

TEST(HfConfigHostile, DeepAndLargeTexts) {
  EXPECT_NE(error_of(std::string(60000, '[')).find("nested deeper than"), std::string::npos);
  std::string deep = "{\"a\":";
  for (int i = 0; i < 60000; ++i) deep += "{\"a\":";
  EXPECT_NE(error_of(deep).find("nested"), std::string::npos);
  EXPECT_NE(error_of(std::string(size_t{5} << 20, ' ')).find("at most"), std::string::npos);
  EXPECT_NE(error_of("").find("config.json"), std::string::npos);
  for_each_cut(small("LlamaForCausalLM").dump(), [](const std::string& cut) {
    EXPECT_EQ(error_of(cut).rfind("config.json: ", 0), 0U);
  });
}

}  // namespace
}  // namespace ruv::hf_config_test
