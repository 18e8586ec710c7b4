// Configs of models that answer a source text, and of their encoders alone.
#include <gtest/gtest.h>

#include "base/json.h"
#include "format/hf_config.h"

namespace ruv::hf_source_test {
namespace {

const MetaValue* value_of(const HfConfig& config, std::string_view key) {
  const auto found = config.metadata.find(fmt::format("{}.{}", config.architecture, key));
  return found == config.metadata.end() ? nullptr : &found->second;
}

int64_t integer_of(const HfConfig& config, std::string_view key) {
  const MetaValue* const value = value_of(config, key);
  return value == nullptr ? -1 : std::get<int64_t>(*value);
}

Json t5gemma() {
  const Json side = {{"hidden_size", 64},
                     {"intermediate_size", 96},
                     {"num_hidden_layers", 3},
                     {"bos_token_id", 4},
                     {"vocab_size", 100}};
  Json json = {{"model_type", "t5gemma"},
               {"architectures", {"T5GemmaForConditionalGeneration"}},
               {"is_encoder_decoder", true},
               {"encoder", side},
               {"decoder", side}};
  json["encoder"]["hidden_size"] = 80;
  json["encoder"]["num_attention_heads"] = 16;
  json["encoder"]["sliding_window"] = 10;
  return json;
}

HfConfig parsed(const Json& json) {
  auto config = parse_hf_config(json.dump(), "config.json");
  EXPECT_TRUE(config) << config.error().message();
  return config ? std::move(*config) : HfConfig();
}

TEST(HfSides, EachHasNumbersOfItsOwn) {
  const HfConfig config = parsed(t5gemma());
  EXPECT_EQ(config.faults.first().message(), "");
  EXPECT_EQ(config.architecture, "t5gemma");
  EXPECT_EQ(integer_of(config, "embedding_length"), 64);
  EXPECT_EQ(integer_of(config, "attention.head_count"), 8);
  EXPECT_EQ(integer_of(config, "attention.head_count_kv"), 4);
  EXPECT_EQ(integer_of(config, "attention.sliding_window"), 4096);
  EXPECT_EQ(integer_of(config, "decoder_start_token_id"), 4);
  EXPECT_EQ(integer_of(config, "encoder.embedding_length"), 80);
  EXPECT_EQ(integer_of(config, "encoder.attention.head_count"), 16);
  // As far ahead as back.
  EXPECT_EQ(integer_of(config, "encoder.attention.sliding_window"), 20);
  EXPECT_EQ(integer_of(config, "encoder.attention.sliding_window_pattern"), 2);
  EXPECT_EQ(config.names.at("encoder.embedding_length"), "encoder.hidden_size");
  EXPECT_TRUE(config.tied_embeddings);
}

TEST(HfSides, TheOuterObjectSaysWhatBothHaveInCommon) {
  Json json = t5gemma();
  json["tie_word_embeddings"] = false;
  json["decoder"]["tie_word_embeddings"] = true;
  json["bos_token_id"] = 5;
  EXPECT_FALSE(parsed(json).tied_embeddings);
  EXPECT_EQ(integer_of(parsed(json), "decoder_start_token_id"), 5);
  json["decoder_start_token_id"] = 6;
  EXPECT_EQ(integer_of(parsed(json), "decoder_start_token_id"), 6);
}

TEST(HfSides, WhatTheyCannotHaveIsNamed) {
  const auto fault_of = [](const Json& json) { return parsed(json).faults.first().message(); };
  Json json = t5gemma();
  json["encoder"]["attention_bias"] = true;
  EXPECT_NE(fault_of(json).find("'encoder.attention_bias' is true"), std::string::npos);
  json = t5gemma();
  json["decoder"]["vocab_size"] = 101;
  EXPECT_NE(fault_of(json).find("'decoder.vocab_size' differs"), std::string::npos);
  json = t5gemma();
  json["architectures"] = {"T5GemmaForTokenClassification"};
  EXPECT_EQ(parsed(json).family, nullptr);
}

}  // namespace
}  // namespace ruv::hf_source_test
