// Keys of latent attention and of queries that grow: defaults, nulls, and what is refused.
#include <gtest/gtest.h>

#include "base/json.h"
#include "format/hf_config.h"

namespace ruv::hf_attention_test {
namespace {

Json small(std::string_view model_type) {
  return {{"model_type", model_type}, {"hidden_size", 64},        {"intermediate_size", 96},
          {"num_hidden_layers", 4},   {"num_attention_heads", 4}, {"vocab_size", 100},
          {"num_key_value_heads", 4}};
}

// A number of the config's metadata; -1: it has none.
double number(const Json& config, std::string_view key) {
  const auto parsed = parse_hf_config(config.dump(), "config.json");
  EXPECT_TRUE(parsed) << parsed.error().message();
  if (!parsed) return -2;
  EXPECT_EQ(parsed->faults.first().message(), "");
  const auto found = parsed->metadata.find(fmt::format("{}.{}", parsed->architecture, key));
  if (found == parsed->metadata.end()) return -1;
  if (const auto* const real = std::get_if<double>(&found->second)) return *real;
  return static_cast<double>(std::get<int64_t>(found->second));
}

std::string error_of(const Json& config) {
  const auto parsed = parse_hf_config(config.dump(), "config.json");
  if (!parsed) return parsed.error().message();
  return parsed->faults.empty() ? "no error" : parsed->faults.first().message();
}

bool names(const std::string& error, std::string_view key) {
  return error.find(fmt::format("'{}'", key)) != error.npos;
}

TEST(HfLatentKeys, DefaultsAreThoseOfTheClass) {
  Json config = small("minicpm3");
  EXPECT_EQ(number(config, "attention.q_lora_rank"), 768);
  EXPECT_EQ(number(config, "attention.kv_lora_rank"), 256);
  EXPECT_EQ(number(config, "attention.key_length"), 96);
  EXPECT_EQ(number(config, "attention.value_length"), 16);  // as wide as heads of the stream
  EXPECT_EQ(number(config, "rope.dimension_count"), 32);
  config = small("youtu");
  EXPECT_EQ(number(config, "attention.q_lora_rank"), 1536);
  EXPECT_EQ(number(config, "attention.kv_lora_rank"), 512);
  EXPECT_EQ(number(config, "attention.key_length"), 192);
  EXPECT_EQ(number(config, "attention.value_length"), 128);
}

TEST(HfLatentKeys, NullMeansQueriesOfTheStream) {
  Json config = small("youtu");
  config["q_lora_rank"] = nullptr;
  EXPECT_EQ(number(config, "attention.q_lora_rank"), -1);
  config["v_head_dim"] = nullptr;
  EXPECT_TRUE(names(error_of(config), "v_head_dim"));
  config = small("minicpm3");
  config["v_head_dim"] = nullptr;
  EXPECT_EQ(number(config, "attention.value_length"), 16);
}

TEST(HfLatentKeys, AllHeadsShareOneRow) {
  Json config = small("youtu");
  config["num_key_value_heads"] = 2;
  EXPECT_TRUE(names(error_of(config), "num_key_value_heads"));
  config["num_key_value_heads"] = nullptr;
  EXPECT_EQ(error_of(config), "no error");
  config["rope_interleave"] = false;
  EXPECT_TRUE(names(error_of(config), "rope_interleave"));
}

TEST(HfLatentKeys, TheRotatedPartOfGlmHasAnotherName) {
  Json config = small("glm4_moe_lite");
  config["head_dim"] = 32;
  EXPECT_EQ(number(config, "rope.dimension_count"), 32);
  config["qk_rope_head_dim"] = 32;
  EXPECT_EQ(number(config, "attention.key_length"), 224);
  config["qk_rope_head_dim"] = 16;
  EXPECT_TRUE(names(error_of(config), "head_dim"));
}

TEST(HfLatentKeys, GroupsCountByTheMethodOfDeepSeekV2) {
  Json config = small("deepseek_v2");
  config["num_experts_per_tok"] = 2;
  config["n_group"] = 4;
  config["topk_group"] = 2;
  EXPECT_EQ(number(config, "expert_group_count"), -1);
  config["topk_method"] = "group_limited_greedy";
  EXPECT_EQ(number(config, "expert_group_count"), 4);
  EXPECT_EQ(number(config, "expert_gating_func"), 1);
  config["topk_method"] = "noaux_tc";
  EXPECT_TRUE(names(error_of(config), "topk_method"));
  config = small("deepseek_v3");
  EXPECT_EQ(number(config, "expert_group_count"), 8);
  EXPECT_EQ(number(config, "expert_gating_func"), 2);
}

// Which layers share what one before has chosen: "FSF"; empty: the config does not say.
std::string shared_layers(const Json& config) {
  const auto parsed = parse_hf_config(config.dump(), "config.json");
  EXPECT_TRUE(parsed) << parsed.error().message();
  if (!parsed) return "no config";
  EXPECT_EQ(parsed->faults.first().message(), "");
  const auto found = parsed->metadata.find("glm-dsa.attention.indexer.shared_layers");
  if (found == parsed->metadata.end()) return {};
  std::string kinds;
  for (const bool shared : std::get<std::shared_ptr<const MetaArray>>(found->second)->bools) {
    kinds += shared ? 'S' : 'F';
  }
  return kinds;
}

TEST(HfIndexKeys, DefaultsAreThoseOfTheClass) {
  EXPECT_EQ(number(small("youtu"), "attention.indexer.top_k"), -1);
  Json config = small("deepseek_v32");
  EXPECT_EQ(number(config, "attention.indexer.head_count"), 64);
  EXPECT_EQ(number(config, "attention.indexer.key_length"), 128);
  EXPECT_EQ(number(config, "attention.indexer.top_k"), 2048);
  EXPECT_EQ(number(config, "expert_group_count"), 8);
  EXPECT_EQ(shared_layers(config), "");
  config = small("glm_moe_dsa");
  EXPECT_EQ(number(config, "attention.indexer.head_count"), 32);
  EXPECT_EQ(number(config, "attention.key_length"), 256);
  config["index_n_heads"] = 3;
  config["index_head_dim"] = 65;
  config["index_topk"] = 7;
  EXPECT_EQ(number(config, "attention.indexer.head_count"), 3);
  EXPECT_EQ(number(config, "attention.indexer.key_length"), 65);
  EXPECT_EQ(number(config, "attention.indexer.top_k"), 7);
}

TEST(HfIndexKeys, LayersShareByAListATextOrAPeriod) {
  Json config = small("glm_moe_dsa");
  EXPECT_EQ(shared_layers(config), "FFFF");
  config["index_topk_freq"] = 2;
  EXPECT_EQ(shared_layers(config), "FFSF");
  config["index_skip_topk_offset"] = 3;
  EXPECT_EQ(shared_layers(config), "FFFS");
  config["index_topk_freq"] = 0;
  EXPECT_EQ(shared_layers(config), "FFFF");
  config["index_topk_pattern"] = "FSSF";
  EXPECT_EQ(shared_layers(config), "FSSF");
  config["indexer_types"] = {"full", "full", "shared", "shared"};
  EXPECT_EQ(shared_layers(config), "FFSS");
}

TEST(HfIndexKeys, OtherIndexesAreRefusedByName) {
  Json config = small("glm_moe_dsa");
  config["indexer_types"] = {"full", "full", "sparse", "shared"};
  EXPECT_TRUE(names(error_of(config), "indexer_types"));
  config["indexer_types"] = {"shared", "full", "full", "shared"};
  EXPECT_TRUE(names(error_of(config), "indexer_types"));
  config["indexer_types"] = {"full", "full", "shared"};
  EXPECT_TRUE(names(error_of(config), "indexer_types"));
  config = small("glm_moe_dsa");
  config["index_topk_pattern"] = "FXSF";
  EXPECT_TRUE(names(error_of(config), "index_topk_pattern"));
  config["index_topk_pattern"] = 3;
  EXPECT_TRUE(names(error_of(config), "index_topk_pattern"));
  config = small("glm_moe_dsa");
  config["index_skip_topk_offset"] = 0;
  config["index_topk_freq"] = 2;
  EXPECT_TRUE(names(error_of(config), "index_skip_topk_offset"));
  config = small("glm_moe_dsa");
  config["indexer_rope_interleave"] = false;
  EXPECT_TRUE(names(error_of(config), "indexer_rope_interleave"));
  config = small("deepseek_v32");
  config["indexer_rope_interleave"] = true;
  EXPECT_TRUE(names(error_of(config), "indexer_rope_interleave"));
  config = small("deepseek_v32");
  config["q_lora_rank"] = nullptr;
  EXPECT_TRUE(names(error_of(config), "q_lora_rank"));
  config = small("deepseek_v32");
  config["index_topk"] = 0;
  EXPECT_TRUE(names(error_of(config), "index_topk"));
  config = small("deepseek_v32");
  config["layer_types"] = {"indexed_attention", "full_attention", "indexed_attention",
                           "indexed_attention"};
  EXPECT_TRUE(names(error_of(config), "layer_types"));
}

TEST(HfLatentKeys, ScalesOfMiniCpm3) {
  Json config = small("minicpm3");
  EXPECT_EQ(number(config, "embedding_scale"), 12);
  EXPECT_EQ(number(config, "residual_scale"), 0.7);
  EXPECT_EQ(number(config, "logit_scale"), 4);
  config["scale_depth"] = nullptr;
  config["dim_model_base"] = nullptr;
  EXPECT_EQ(number(config, "residual_scale"), 1);
  EXPECT_EQ(number(config, "logit_scale"), 1);
  config["scale_depth"] = 0;
  EXPECT_TRUE(names(error_of(config), "scale_depth"));
  config["scale_depth"] = 1;
  config["dim_model_base"] = 0;
  EXPECT_TRUE(names(error_of(config), "dim_model_base"));
}

// Layers that rotate see chunks, unless layer_types says which do.
TEST(HfChunkKeys, ChunksAndGrowthOfLlama4) {
  Json config = small("llama4_text");
  config["num_local_experts"] = 4;
  config["head_dim"] = 16;
  config["intermediate_size_mlp"] = 32;
  EXPECT_EQ(number(config, "attention.sliding_window"), 8192);
  EXPECT_EQ(number(config, "attention.temperature_scale"), 0.1);
  EXPECT_EQ(number(config, "attention.temperature_length"), 8192);
  EXPECT_EQ(number(config, "expert_shared_feed_forward_length"),
            number(config, "expert_feed_forward_length"));
  config["attn_temperature_tuning"] = false;
  EXPECT_EQ(number(config, "attention.temperature_scale"), 0);
  config["attention_chunk_size"] = 16;
  EXPECT_EQ(number(config, "attention.sliding_window"), 16);
  config["layer_types"] = {"chunked_attention", "sliding_attention", "full_attention",
                           "full_attention"};
  EXPECT_TRUE(names(error_of(config), "layer_types"));
  config["layer_types"] = {"chunked_attention", "full_attention", "full_attention",
                           "full_attention"};
  EXPECT_EQ(error_of(config), "no error");
  config["attention_chunk_size"] = nullptr;
  EXPECT_TRUE(names(error_of(config), "layer_types"));
  config.erase("layer_types");
  EXPECT_EQ(number(config, "attention.sliding_window"), 0);
}

// Groups follow each other as often as they say; together they are all layers.
TEST(HfLocalKeys, WindowsOfGptNeo) {
  Json config = {{"model_type", "gpt_neo"}, {"hidden_size", 64}, {"num_layers", 24}};
  EXPECT_EQ(number(config, "attention.sliding_window"), 256);
  EXPECT_EQ(number(config, "attention.scale"), 1);
  EXPECT_EQ(number(config, "feed_forward_length"), 256);
  config["num_layers"] = 3;
  EXPECT_TRUE(names(error_of(config), "num_layers"));
  config["attention_types"] = {{{"global", "local"}, 1}, {{"local"}, 1}};
  EXPECT_EQ(error_of(config), "no error");
  config["attention_types"] = {{{"global", "sideways"}, 1}, {{"local"}, 1}};
  EXPECT_TRUE(names(error_of(config), "attention_types"));
  config["attention_types"] = {{{"global", "local"}, 2147483647}};
  EXPECT_TRUE(names(error_of(config), "attention_types"));
}

TEST(HfRopeKeys, ThePartOfAHeadOfMistral4IsItsRotatedWidth) {
  Json config = small("mistral4");
  EXPECT_EQ(number(config, "rope.dimension_count"), 64);
  EXPECT_EQ(number(config, "rope.scaling.factor"), 128);
  EXPECT_EQ(number(config, "attention.temperature_length"), 8192);
  config["rope_parameters"] = {{"rope_type", "linear"},
                               {"factor", 2.0},
                               {"llama_4_scaling_beta", 0.1},
                               {"partial_rotary_factor", 0.5},
                               {"original_max_position_embeddings", 64}};
  EXPECT_EQ(number(config, "rope.dimension_count"), 64);
  config["rope_parameters"]["partial_rotary_factor"] = 0.25;
  EXPECT_TRUE(names(error_of(config), "rope_parameters.partial_rotary_factor"));
}

// A base beside the default counts; an empty rope_scaling does not take its place, empty
// rope_parameters do.
TEST(HfRopeKeys, GptOssScalesPositionsByDefault) {
  Json config = small("gpt_oss");
  config["num_local_experts"] = 4;
  config["head_dim"] = 16;
  EXPECT_EQ(number(config, "rope.scaling.factor"), 32);
  EXPECT_EQ(number(config, "rope.scaling.original_context_length"), 4096);
  EXPECT_EQ(number(config, "rope.scaling.yarn_beta_fast"), 32);
  EXPECT_EQ(number(config, "rope.freq_base"), 150000);
  config["rope_theta"] = 500.0;
  config["rope_scaling"] = Json::object();
  EXPECT_EQ(number(config, "rope.scaling.factor"), 32);
  EXPECT_EQ(number(config, "rope.freq_base"), 500);
  config["rope_parameters"] = Json::object();
  EXPECT_EQ(number(config, "rope.scaling.factor"), -1);
}

TEST(HfGrowthKeys, SlopeAndSpanAreInTheRopeParameters) {
  Json config = small("ministral3");
  EXPECT_EQ(number(config, "attention.temperature_scale"), 0.1);
  EXPECT_EQ(number(config, "attention.temperature_length"), 16384);
  EXPECT_EQ(number(config, "rope.scaling.factor"), 16);
  EXPECT_EQ(number(config, "rope.freq_base"), 1e6);
  config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 1e4}};
  EXPECT_TRUE(names(error_of(config), "rope_parameters.llama_4_scaling_beta"));
  config["rope_parameters"]["llama_4_scaling_beta"] = 0.25;
  EXPECT_TRUE(names(error_of(config), "rope_parameters.original_max_position_embeddings"));
  config["rope_parameters"]["original_max_position_embeddings"] = 64;
  EXPECT_EQ(number(config, "attention.temperature_scale"), 0.25);
  EXPECT_EQ(number(config, "attention.temperature_length"), 64);
  config["rope_parameters"]["llama_4_scaling_beta"] = 0;
  EXPECT_EQ(number(config, "attention.temperature_scale"), -1);
}

TEST(HfLayerBases, OneOfWindowedLayersAndOneOfOthers) {
  Json config = small("granite_swa");
  EXPECT_EQ(number(config, "rope.freq_base"), 10000);
  EXPECT_EQ(number(config, "rope.freq_base_swa"), -1);
  EXPECT_EQ(number(config, "attention.sliding_window"), 128);
  EXPECT_EQ(number(config, "attention.sliding_window_pattern"), 4);  // the first of four sees all
  config["layer_rope_theta"] = {5e6, 1e4, 0, 1e4};
  EXPECT_EQ(number(config, "rope.freq_base"), 5e6);
  EXPECT_EQ(number(config, "rope.freq_base_swa"), 1e4);
  const auto parsed = parse_hf_config(config.dump(), "config.json");
  ASSERT_TRUE(parsed);
  const auto& list = parsed->metadata.at("granite_swa.rope.rotated_layers");
  EXPECT_EQ(std::get<std::shared_ptr<const MetaArray>>(list)->bools,
            (std::vector<bool>{true, true, false, true}));
  config["layer_rope_theta"] = {0, 1e4, 0, 1e4};
  EXPECT_EQ(number(config, "rope.freq_base"), 1e4);
  EXPECT_EQ(number(config, "rope.freq_base_swa"), -1);
  config["layer_rope_theta"] = {0, 1e4, 0, 2e4};
  EXPECT_TRUE(names(error_of(config), "layer_rope_theta"));
  config["layer_rope_theta"] = {1e4, 1e4};
  EXPECT_TRUE(names(error_of(config), "layer_rope_theta"));
}

}  // namespace
}  // namespace ruv::hf_attention_test
