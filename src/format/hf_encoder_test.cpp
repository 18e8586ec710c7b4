// Configs and tensor names of encoders.
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "format/hf_config.h"
#include "format/tensor_names.h"

namespace ruv::hf_encoder_test {
namespace {

Json small(std::string_view model_type) {
  return {{"model_type", model_type}, {"hidden_size", 24},       {"num_hidden_layers", 2},
          {"num_attention_heads", 4}, {"intermediate_size", 32}, {"vocab_size", 61}};
}

HfConfig parse(const Json& json) { return *parse_hf_config(json.dump(), "config.json"); }

std::string refusal_of(const Json& json) {
  const auto config = parse_hf_config(json.dump(), "config.json");
  return config ? std::string(config->faults.first().message()) : config.error().message();
}

template <class T>
T value(const HfConfig& config, std::string_view key) {
  return std::get<T>(config.metadata.at(config.architecture + "." + std::string(key)));
}
bool has(const HfConfig& config, std::string_view key) {
  return config.metadata.contains(config.architecture + "." + std::string(key));
}

TEST(HfEncoder, DefaultsOfBertAndItsDescendants) {
  const HfConfig bert = parse(small("bert"));
  EXPECT_EQ(bert.architecture, "bert");
  EXPECT_FALSE(value<bool>(bert, "attention.causal"));
  EXPECT_EQ(value<int64_t>(bert, "token_type_count"), 2);
  EXPECT_EQ(value<int64_t>(bert, "context_length"), 512);
  EXPECT_EQ(value<double>(bert, "attention.layer_norm_epsilon"), 1e-12);
  EXPECT_EQ(value<std::string>(bert, "hidden_act"), "gelu");
  EXPECT_FALSE(has(bert, "position_offset") || has(bert, "embedding_length_in"));
  for (const char* name : {"roberta", "xlm-roberta", "camembert"}) {
    Json json = small(name);
    EXPECT_EQ(value<int64_t>(parse(json), "position_offset"), 2) << name;
    EXPECT_EQ(value<int64_t>(parse(json), "unplaced_token"), 1);
    json["pad_token_id"] = 5;
    json["type_vocab_size"] = 1;
    EXPECT_EQ(value<int64_t>(parse(json), "position_offset"), 6);
    EXPECT_EQ(value<int64_t>(parse(json), "token_type_count"), 1);
    json["pad_token_id"] = nullptr;
    EXPECT_NE(refusal_of(json).find("pad_token_id"), std::string::npos);
  }
  Json electra = small("electra");
  EXPECT_NE(refusal_of(electra).find("embedding_size"), std::string::npos) << "128 of 24";
  electra["embedding_size"] = 16;
  EXPECT_EQ(value<int64_t>(parse(electra), "embedding_length_in"), 16);
  const HfConfig distil = parse({{"model_type", "distilbert"},
                                 {"dim", 24},
                                 {"n_layers", 3},
                                 {"n_heads", 2},
                                 {"hidden_dim", 40},
                                 {"activation", "relu"}});
  EXPECT_EQ(value<int64_t>(distil, "block_count"), 3);
  EXPECT_EQ(value<int64_t>(distil, "feed_forward_length"), 40);
  EXPECT_EQ(value<std::string>(distil, "hidden_act"), "relu");
  EXPECT_EQ(value<int64_t>(distil, "token_type_count"), 0);
}

TEST(HfEncoder, DefaultsOfEncodersWithRotaryPositions) {
  const HfConfig nomic = parse(small("nomic_bert"));
  EXPECT_EQ(nomic.architecture, "nomic-bert");
  EXPECT_EQ(value<double>(nomic, "rope.freq_base"), 1000);
  EXPECT_EQ(value<std::string>(nomic, "hidden_act"), "silu");
  EXPECT_FALSE(nomic.has_tensor("blk.0.attn_q.bias"));
  const HfConfig jina = parse(small("jina_embeddings_v3"));
  EXPECT_EQ(value<double>(jina, "rope.freq_base"), 20000);
  EXPECT_TRUE(jina.has_tensor("blk.0.ffn_up.bias"));
  const HfConfig gte = parse(small("gte"));
  EXPECT_EQ(value<double>(gte, "rope.freq_base"), 160000);
  EXPECT_TRUE(gte.has_tensor("blk.0.attn_output.bias"));
  EXPECT_TRUE(gte.has_tensor("blk.0.ffn_down.bias"));
  EXPECT_FALSE(gte.has_tensor("blk.0.ffn_up.bias"));
  const HfConfig euro = parse(small("eurobert"));
  EXPECT_FALSE(value<bool>(euro, "attention.causal"));
  EXPECT_FALSE(euro.has_tensor("output.weight"));
}

Json jina() {
  Json json = small("bert");
  json["architectures"] = Json::array({"JinaBertForMaskedLM"});
  json["position_embedding_type"] = "alibi";
  json["feed_forward_type"] = "geglu";
  return json;
}

TEST(HfEncoder, ConfigsOfJina2HaveTheTypeOfBert) {
  Json json = jina();
  json["hidden_act"] = "relu";
  json["emb_pooler"] = "mean";
  const HfConfig english = parse(json);
  EXPECT_TRUE(english.faults.empty()) << english.faults.first().message();
  EXPECT_EQ(english.architecture, "jina-bert-v2");
  EXPECT_EQ(value<double>(english, "attention.max_alibi_bias"), 8);
  EXPECT_EQ(value<double>(english, "attention.layer_norm_epsilon"), 1e-12);
  EXPECT_EQ(value<int64_t>(english, "token_type_count"), 2);
  EXPECT_EQ(value<std::string>(english, "hidden_act"), "gelu") << "hidden_act is the lost head's";
  EXPECT_TRUE(english.has_tensor("blk.0.ffn_down.bias"));
  EXPECT_TRUE(english.has_tensor("blk.0.attn_output.bias"));
  EXPECT_FALSE(english.has_tensor("blk.0.ffn_up.bias"));
  EXPECT_FALSE(english.has_tensor("blk.0.ffn_gate.bias"));
  json["feed_forward_type"] = "reglu";
  EXPECT_EQ(value<std::string>(parse(json), "hidden_act"), "relu");
  json["architectures"] = Json::array({"BertModel"});
  EXPECT_EQ(parse(json).architecture, "bert");
  EXPECT_NE(refusal_of(json).find("position_embedding_type"), std::string::npos);
}

TEST(HfEncoder, WhatElseJina2CouldMeanIsRefused) {
  const std::pair<const char*, Json> refused[] = {{"feed_forward_type", "original"},
                                                  {"feed_forward_type", nullptr},
                                                  {"emb_pooler", "cls"},
                                                  {"position_embedding_type", "absolute"},
                                                  {"is_decoder", true},
                                                  {"position_embedding_type", nullptr}};
  for (const auto& [key, setting] : refused) {
    Json json = jina();
    json[key] = setting;
    EXPECT_NE(refusal_of(json).find(key), std::string::npos) << key << setting.dump();
  }
  for (const char* key : {"feed_forward_type", "position_embedding_type"}) {
    Json json = jina();
    json.erase(key);
    EXPECT_NE(refusal_of(json).find(key), std::string::npos) << key;
  }
  Json ranker = jina();
  ranker["architectures"] = Json::array({"JinaBertForSequenceClassification"});
  EXPECT_EQ(parse(ranker).family, nullptr) << "its slopes are others, which no key says";
}

TEST(HfEncoder, TensorsOfJina2) {
  const TensorNames names(find_family("jina-bert-v2"));
  for (const std::string prefix : {"", "bert."}) {
    const std::string layer = prefix + "encoder.layer.3.";
    EXPECT_EQ(names.gguf_of(layer + "mlp.gated_layers.weight").gguf, "blk.3.ffn_gate.weight");
    EXPECT_EQ(names.gguf_of(layer + "mlp.wo.bias").gguf, "blk.3.ffn_down.bias");
    EXPECT_EQ(names.gguf_of(layer + "mlp.layernorm.bias").gguf, "blk.3.layer_output_norm.bias");
    EXPECT_EQ(names.gguf_of(layer + "mlp.up_gated_layer.weight").gguf, "blk.3.ffn_up.weight");
    EXPECT_EQ(names.gguf_of(layer + "layer_norm_1.bias").gguf, "blk.3.attn_norm_2.bias");
    EXPECT_EQ(names.gguf_of(layer + "layer_norm_2.weight").gguf, "blk.3.layer_output_norm.weight");
    EXPECT_EQ(names.gguf_of(layer + "attention.self.layer_norm_k.bias").gguf,
              "blk.3.attn_k_norm.bias");
  }
}

TEST(HfEncoder, WindowsOfModernBert) {
  Json json = small("modernbert");
  const HfConfig usual = parse(json);
  EXPECT_EQ(usual.architecture, "modern-bert");
  EXPECT_EQ(value<int64_t>(usual, "attention.sliding_window"), 128);
  EXPECT_EQ(value<int64_t>(usual, "attention.sliding_window_pattern"), 3);
  EXPECT_EQ(value<double>(usual, "rope.freq_base"), 160000);
  EXPECT_EQ(value<double>(usual, "rope.freq_base_swa"), 10000);
  json["local_attention"] = 16;
  json["num_hidden_layers"] = 5;
  json["global_rope_theta"] = 500.0;
  json["layer_types"] = {"full_attention", "sliding_attention", "full_attention",
                         "sliding_attention", "full_attention"};
  const HfConfig other = parse(json);
  EXPECT_EQ(value<int64_t>(other, "attention.sliding_window"), 16);
  EXPECT_EQ(value<int64_t>(other, "attention.sliding_window_pattern"), 2) << "0, 2 and 4 see all";
  EXPECT_EQ(value<double>(other, "rope.freq_base"), 500);
  json["layer_types"][0] = "sliding_attention";
  EXPECT_EQ(value<std::shared_ptr<const MetaArray>>(parse(json), "attention.sliding_window_pattern")
                ->bools,
            (std::vector<bool>{true, true, false, true, false}));
  json["norm_bias"] = true;
  EXPECT_NE(refusal_of(json).find("norm_bias"), std::string::npos);
}

TEST(HfEncoder, DecodersOfModernBertSeeHalfOfTheirWindow) {
  Json json = small("modernbert-decoder");
  const HfConfig usual = parse(json);
  EXPECT_EQ(usual.architecture, "modern-bert-decoder");
  EXPECT_EQ(value<int64_t>(usual, "attention.sliding_window"), 64);
  EXPECT_EQ(value<int64_t>(usual, "attention.sliding_window_pattern"), 3);
  EXPECT_EQ(value<double>(usual, "rope.freq_base_swa"), 10000);
  EXPECT_FALSE(has(usual, "attention.causal"));
  EXPECT_TRUE(usual.has_tensor("output.bias"));
  EXPECT_EQ(value<std::string>(usual, "output_dense_act"), "gelu");
  EXPECT_FALSE(usual.has_tensor("output_dense.bias"));
  EXPECT_FALSE(usual.has_tensor("output_dense_norm.bias"));
  json["local_attention"] = 17;
  json["decoder_bias"] = false;
  json["classifier_bias"] = true;
  json["classifier_activation"] = "relu";
  const HfConfig other = parse(json);
  EXPECT_EQ(value<int64_t>(other, "attention.sliding_window"), 8);
  EXPECT_FALSE(other.has_tensor("output.bias"));
  EXPECT_TRUE(other.has_tensor("output_dense.bias"));
  EXPECT_EQ(value<std::string>(other, "output_dense_act"), "relu");
  for (const Json& none : {Json(1), Json(nullptr)}) {
    json["local_attention"] = none;
    EXPECT_NE(refusal_of(json).find("local_attention"), std::string::npos) << none.dump();
  }
  const TensorNames names(find_family("modern-bert-decoder"));
  EXPECT_EQ(names.gguf_of("lm_head.dense.weight").gguf, "output_dense.weight");
  EXPECT_EQ(names.gguf_of("decoder.bias").gguf, "output.bias");
}

TEST(HfEncoder, EuroBertScoresEachState) {
  Json json = small("eurobert");
  json["architectures"] = Json::array({"EuroBertForSequenceClassification"});
  const HfConfig usual = parse(json);
  EXPECT_TRUE(value<bool>(usual, "classifier.of_each"));
  EXPECT_FALSE(value<bool>(usual, "classifier.of_mean"));
  EXPECT_EQ(value<std::string>(usual, "classifier.activation"), "gelu");
  EXPECT_EQ(usual.classifier_tensor("dense.bias"), "cls.bias");
  json["classifier_pooling"] = "mean";
  EXPECT_TRUE(value<bool>(parse(json), "classifier.of_mean"));
  EXPECT_FALSE(has(parse(json), "classifier.of_each"));
  json["classifier_pooling"] = "bos";
  EXPECT_FALSE(value<bool>(parse(json), "classifier.of_mean"));
  json["classifier_pooling"] = "cls";
  EXPECT_NE(refusal_of(json).find("classifier_pooling"), std::string::npos);
}

TEST(HfEncoder, AKeyMakesAnEncoderOfGemma3) {
  Json json = small("gemma3_text");
  EXPECT_EQ(parse(json).architecture, "gemma3");
  json["use_bidirectional_attention"] = true;
  const HfConfig encoder = parse(json);
  EXPECT_EQ(encoder.architecture, "gemma-embedding");
  EXPECT_FALSE(value<bool>(encoder, "attention.causal"));
  EXPECT_EQ(value<int64_t>(encoder, "attention.sliding_window"), 4096);
  const Json nested = {{"model_type", "gemma3"}, {"text_config", json}};
  EXPECT_NE(refusal_of(nested).find("use_bidirectional_attention"), std::string::npos);
}

TEST(HfEncoder, AModelMayBeItsTable) {
  const HfConfig table = parse({{"model_type", "model2vec"}, {"seq_length", 1000000}});
  EXPECT_EQ(value<int64_t>(table, "context_length"), 1000000);
  const TensorNames names(find_family("model2vec"));
  EXPECT_EQ(names.gguf_of("embeddings").gguf, "token_embd.weight");
}

TEST(HfEncoder, DecodersAndOtherPositionsAreRefused) {
  const std::pair<const char*, Json> refused[] = {{"is_decoder", true},
                                                  {"add_cross_attention", true},
                                                  {"position_embedding_type", "relative_key"}};
  for (const auto& [key, setting] : refused) {
    Json json = small("bert");
    json[key] = setting;
    EXPECT_NE(refusal_of(json).find(key), std::string::npos) << key;
  }
}

TEST(HfEncoder, TensorNames) {
  const TensorNames names(find_family("bert"));
  const auto gguf = [&](std::string_view hf) { return names.gguf_of(hf).gguf; };
  for (const std::string prefix : {"", "bert.", "roberta.", "electra."}) {
    EXPECT_EQ(gguf(prefix + "embeddings.word_embeddings.weight"), "token_embd.weight");
    EXPECT_EQ(gguf(prefix + "embeddings.LayerNorm.gamma"), "token_embd_norm.weight");
    EXPECT_EQ(gguf(prefix + "encoder.layer.3.output.LayerNorm.beta"),
              "blk.3.layer_output_norm.bias");
    EXPECT_EQ(gguf(prefix + "encoder.layer.3.attention.self.key.bias"), "blk.3.attn_k.bias");
    EXPECT_EQ(gguf(prefix + "encoder.layer.3.attention.output.dense.weight"),
              "blk.3.attn_output.weight");
  }
  for (const std::string prefix : {"", "distilbert."}) {
    EXPECT_EQ(gguf(prefix + "transformer.layer.1.sa_layer_norm.bias"),
              "blk.1.attn_output_norm.bias");
    EXPECT_EQ(gguf(prefix + "transformer.layer.1.ffn.lin2.weight"), "blk.1.ffn_down.weight");
  }
  EXPECT_EQ(gguf("electra.embeddings_project.weight"), "token_embd_in.weight");
  EXPECT_FALSE(names.gguf_of("bert.pooler.dense.weight").mapped);
  EXPECT_FALSE(names.gguf_of("cls.predictions.bias").mapped);
  EXPECT_TRUE(is_ignored_hf_tensor("bert.embeddings.position_ids"));
  EXPECT_EQ(names.hf_of("blk.2.ffn_up.bias"), "encoder.layer.2.intermediate.dense.bias");
}

TEST(HfEncoder, MpNetComputes32BucketsWhateverTheKeySays) {
  Json json = small("mpnet");
  const HfConfig usual = parse(json);
  EXPECT_EQ(value<int64_t>(usual, "attention.relative_buckets_count"), 32);
  EXPECT_EQ(value<int64_t>(usual, "position_offset"), 2);
  json["relative_attention_num_buckets"] = 40;
  EXPECT_EQ(value<int64_t>(parse(json), "attention.relative_buckets_count"), 32);
  json["relative_attention_num_buckets"] = 16;
  EXPECT_NE(refusal_of(json).find("relative_attention_num_buckets"), std::string::npos);
}

TEST(HfEncoder, DebertaHasProductsForDistances) {
  Json json = small("deberta-v2");
  const HfConfig plain = parse(json);
  EXPECT_FALSE(value<bool>(plain, "attention.relative"));
  EXPECT_TRUE(value<bool>(plain, "learned_positions"));
  EXPECT_EQ(value<int64_t>(plain, "token_type_count"), 0);
  EXPECT_DOUBLE_EQ(value<double>(plain, "attention.scale"), 1 / std::sqrt(6.0));
  json["relative_attention"] = true;
  json["pos_att_type"] = "P2C | c2p";
  json["position_buckets"] = 256;
  json["share_att_key"] = true;
  json["norm_rel_ebd"] = "layer_norm";
  json["position_biased_input"] = false;
  const HfConfig third = parse(json);
  EXPECT_TRUE(value<bool>(third, "attention.content_to_position"));
  EXPECT_TRUE(value<bool>(third, "attention.position_to_content"));
  EXPECT_TRUE(value<bool>(third, "attention.shared_positions"));
  EXPECT_TRUE(value<bool>(third, "attention.normed_positions"));
  EXPECT_FALSE(value<bool>(third, "learned_positions"));
  EXPECT_EQ(value<int64_t>(third, "attention.relative_positions"), 512);
  EXPECT_EQ(value<int64_t>(third, "attention.relative_buckets_count"), 256);
  EXPECT_DOUBLE_EQ(value<double>(third, "attention.scale"), 1 / std::sqrt(18.0));
  for (const auto& [key, wrong] : {std::pair<std::string, Json>{"pos_att_type", "p2p"},
                                   {"pos_att_type", 3},
                                   {"conv_kernel_size", 3},
                                   {"embedding_size", 8},
                                   {"norm_rel_ebd", "batch"}}) {
    Json other = json;
    other[key] = wrong;
    EXPECT_NE(refusal_of(other).find(key), std::string::npos) << key;
  }
}

}  // namespace
}  // namespace ruv::hf_encoder_test
