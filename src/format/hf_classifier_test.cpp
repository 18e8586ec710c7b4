// Which class of a model_type counts, and classes that score texts by a decoder.
#include <gtest/gtest.h>

#include "base/json.h"
#include "format/hf_config.h"

namespace ruv {
namespace {

Json config_of(std::string_view model_type, std::string_view hf_class) {
  return {{"model_type", model_type},  {"architectures", {hf_class}}, {"hidden_size", 64},
          {"intermediate_size", 96},   {"num_hidden_layers", 6},      {"num_attention_heads", 4},
          {"num_key_value_heads", 2},  {"vocab_size", 100},           {"num_experts", 4},
          {"num_experts_per_tok", 2},  {"moe_intermediate_size", 8},  {"num_shared_experts", 1},
          {"first_k_dense_replace", 1}};
}

HfConfig parse(const Json& config) {
  auto parsed = parse_hf_config(config.dump(), "config.json");
  EXPECT_TRUE(parsed) << parsed.error().message();
  return parsed ? std::move(*parsed) : HfConfig();
}

TEST(HfClassifier, TheClassCountsWhereItsTypeHasSeveral) {
  Json ling = config_of("bailing_moe", "BailingMoeV2ForCausalLM");
  EXPECT_EQ(parse(ling).architecture, "bailingmoe2");
  ling["architectures"] = {"BailingMoeForCausalLM"};
  EXPECT_EQ(parse(ling).architecture, "bailingmoe");
  ling.erase("architectures");
  EXPECT_EQ(parse_hf_config(ling.dump(), "config.json").error().message(),
            "config.json: 'architectures' is missing, and several classes have the model_type");
}

TEST(HfClassifier, DecodersScoreTextsByOneMatrix) {
  const HfConfig scorer = parse(config_of("qwen3", "Qwen3ForSequenceClassification"));
  ASSERT_NE(scorer.classifier, nullptr);
  EXPECT_EQ(scorer.classifier_tensor("score.weight"), "cls.output.weight");
  EXPECT_TRUE(std::get<bool>(scorer.metadata.at("qwen3.without_output")));
  const HfConfig writer = parse(config_of("qwen3", "Qwen3ForCausalLM"));
  EXPECT_EQ(writer.classifier, nullptr);
  EXPECT_EQ(writer.classifier_tensor("score.weight"), "");
  // A class of another type is not one of ours.
  EXPECT_EQ(parse(config_of("qwen3", "LlamaForSequenceClassification")).family, nullptr);
}

}  // namespace
}  // namespace ruv
