// Files of sentence-transformers: every key is honoured, has no effect, or is refused by name.
#include "format/sentence_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "format/test_folder.h"

namespace ruv {
namespace {

constexpr std::string_view kModules = R"([
  {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
  {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
  {"idx": 2, "name": "2", "path": "2_Normalize",
   "type": "sentence_transformers.models.Normalize"}])";
constexpr std::string_view kPooling =
    R"({"word_embedding_dimension": 8, "pooling_mode_mean_tokens": true})";

class SentenceFilesTest : public testing::Test {
 protected:
  SentenceFilesTest() {
    std::filesystem::create_directory(folder_.path() + "/1_Pooling");
    std::filesystem::create_directory(folder_.path() + "/2_Dense");
    folder_.write("modules.json", kModules);
    folder_.write("1_Pooling/config.json", kPooling);
  }
  // Empty: all is well.
  std::string error() const {
    const auto files = read_sentence_files(folder_.path());
    if (files) return {};
    const std::string& message = files.error().message();
    return message.substr(message.find(folder_.path()) == 0 ? folder_.path().size() + 1 : 0);
  }
  std::string error_with(std::string_view name, std::string_view text) const {
    folder_.write(name, text);
    return error();
  }
  SentenceFiles read() const { return **read_sentence_files(folder_.path()); }

  TestFolder folder_;
};

TEST_F(SentenceFilesTest, TheStepsOfAFolder) {
  folder_.write("sentence_bert_config.json", R"({"max_seq_length": 256, "do_lower_case": true})");
  folder_.write("config_sentence_transformers.json",
                R"({"__version__": {}, "prompts": {"query": "q: ", "document": ""},
                    "default_prompt_name": "query", "similarity_fn_name": "dot"})");
  const SentenceFiles files = read();
  EXPECT_EQ(files.pooling, Pooling::mean);
  EXPECT_TRUE(files.normalises && files.pools_prompt && files.lower_case);
  EXPECT_EQ(files.n_embd, 8);
  EXPECT_EQ(files.max_tokens, 256);
  EXPECT_EQ(files.similarity, "dot");
  EXPECT_EQ(files.default_prompt, "query");
  EXPECT_EQ(files.prompts.size(), 2U);
  std::filesystem::remove(folder_.path() + "/modules.json");
  EXPECT_FALSE(read_sentence_files(folder_.path())->has_value());
}

TEST_F(SentenceFilesTest, EveryNameOfAPooling) {
  const auto with = [&](std::string_view json) {
    folder_.write("1_Pooling/config.json", json);
    return read().pooling;
  };
  EXPECT_EQ(with(R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})"),
            Pooling::cls);
  EXPECT_EQ(with(R"({"pooling_mode_lasttoken": true})"), Pooling::last);
  EXPECT_EQ(with(R"({"pooling_mode_weightedmean_tokens": true})"), Pooling::weighted_mean);
  EXPECT_EQ(with(R"({"pooling_mode": "lasttoken", "embedding_dimension": 8})"), Pooling::last);
}

TEST_F(SentenceFilesTest, WhatIsNotComputedIsRefusedByName) {
  const std::string pooling = "1_Pooling/config.json";
  EXPECT_EQ(error_with(pooling, R"({"pooling_mode_max_tokens": true})"),
            "1_Pooling/config.json: 'pooling_mode_max_tokens' is set; mean, cls, last token and "
            "weighted mean are supported");
  EXPECT_NE(error_with(pooling, R"({"pooling_mode_mean_tokens": true,
                                    "pooling_mode_cls_token": true})")
                .find("vectors of several"),
            std::string::npos);
  EXPECT_EQ(error_with(pooling, R"({"pooling_mode_new": true})"),
            "1_Pooling/config.json: 'pooling_mode_new' is true, which is not supported");
  EXPECT_EQ(error_with(pooling, R"({"pooling_mode_mean_tokens": 1})"),
            "1_Pooling/config.json: 'pooling_mode_mean_tokens' is not true or false");
  EXPECT_EQ(error_with(pooling, "{}"), "1_Pooling/config.json: no kind of pooling is asked for");
  EXPECT_EQ(error_with(pooling, R"({"pooling_mode": "sum"})"),
            "1_Pooling/config.json: 'pooling_mode' is \"sum\", which is not known");
  folder_.write(pooling, kPooling);
  EXPECT_EQ(error_with("sentence_bert_config.json", R"({"max_seq_length": 0})"),
            "sentence_bert_config.json: 'max_seq_length' is 0");
  EXPECT_EQ(error_with("sentence_bert_config.json", R"({"transformer_task": "fill-mask"})"),
            "sentence_bert_config.json: 'transformer_task' is \"fill-mask\"; only "
            "\"feature-extraction\" is supported");
  EXPECT_EQ(error_with("sentence_bert_config.json", R"({"tokenizer_args": {"a": 1}})"),
            "sentence_bert_config.json: 'tokenizer_args' is {…}, which is not supported");
  EXPECT_EQ(error_with("sentence_bert_config.json", R"({"max_seq_length": null,
            "tokenizer_args": {}, "modality_config": {"text": {"method": "forward",
            "method_output_name": "last_hidden_state"}}})"),
            "");
  const std::string config = "config_sentence_transformers.json";
  EXPECT_EQ(error_with(config, R"({"default_prompt_name": "query"})"),
            "config_sentence_transformers.json: 'default_prompt_name' is not among 'prompts'");
  EXPECT_EQ(error_with(config, R"({"prompts": {"query": 1}})"),
            "config_sentence_transformers.json: 'prompts.query' is not text");
  EXPECT_NE(error_with(config, R"({"similarity_fn_name": "hamming"})").find("\"hamming\""),
            std::string::npos);
  EXPECT_NE(error_with(config, R"({"model_type": "SparseEncoder"})").find("'model_type'"),
            std::string::npos);
}

TEST_F(SentenceFilesTest, ListsOfStepsThatAreNotSupported) {
  const auto with = [&](std::string_view json) { return error_with("modules.json", json); };
  EXPECT_EQ(with("{}"), "modules.json: not a list");
  EXPECT_EQ(with("[1]"), "modules.json: '[0]' is not an object");
  EXPECT_NE(with("[").find("modules.json"), std::string::npos);
  EXPECT_EQ(with(R"([{"path": "", "type": "custom_st.Transformer"}])"),
            "modules.json: '[0].type' is \"custom_st.Transformer\": steps with code of their own "
            "are not supported");
  const std::string first = R"([{"type": "sentence_transformers.models.Transformer"},)";
  EXPECT_EQ(with(first + R"({"path": "../x", "type": "sentence_transformers.models.Pooling"}])"),
            "modules.json: '[1].path' leads out of the folder");
  EXPECT_EQ(with(first + R"({"path": "/x", "type": "sentence_transformers.models.Pooling"}])"),
            "modules.json: '[1].path' leads out of the folder");
  EXPECT_EQ(with(first + R"({"path": "x", "type": "sentence_transformers.models.LSTM"}])"),
            "modules.json: '[1].type' is LSTM: such steps are not supported");
  EXPECT_EQ(with(first + R"({"path": "x", "type": "sentence_transformers.models.Normalize"}])"),
            "modules.json: '[1].type' is Normalize: the order Transformer, Pooling, Dense, "
            "Normalize is supported, or Transformer, LogitScore");
  EXPECT_EQ(with(R"([{"type": "sentence_transformers.models.Transformer"}])"),
            "modules.json: no step of type 'Pooling'");
}

TEST_F(SentenceFilesTest, DenseLayersAreChecked) {
  folder_.write("modules.json", R"([
    {"type": "sentence_transformers.models.Transformer"},
    {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"path": "2_Dense", "type": "sentence_transformers.models.Dense"}])");
  const auto with = [&](std::string_view json) { return error_with("2_Dense/config.json", json); };
  EXPECT_EQ(with(R"({"in_features": 8, "out_features": 0})"),
            "2_Dense/config.json: 'out_features' is 0");
  EXPECT_EQ(with(R"({"in_features": 8, "out_features": 1000000000})"),
            "2_Dense/config.json: 'out_features' is above 65536");
  EXPECT_NE(with(R"({"in_features": 8, "out_features": 2,
                     "activation_function": "torch.nn.modules.activation.ReLU"})")
                .find("'activation_function' is \"torch.nn.modules.activation.ReLU\""),
            std::string::npos);
  EXPECT_NE(with(R"({"in_features": 8, "out_features": 2})").find("no model.safetensors"),
            std::string::npos);
  std::filesystem::copy(RUV_SOURCE_DIR "/tests/golden/embeddings/dense.safetensors",
                        folder_.path() + "/2_Dense/model.safetensors");
  EXPECT_EQ(with(R"({"in_features": 8, "out_features": 2})"),
            "2_Dense/model.safetensors: tensor 'linear.weight' is not of the size that config.json "
            "says");
  EXPECT_EQ(with(R"({"in_features": 32, "out_features": 16, "bias": false,
                     "activation_function": "torch.nn.modules.linear.Identity"})"),
            "");
  const SentenceFiles files = read();
  ASSERT_EQ(files.dense.size(), 1U);
  EXPECT_EQ(files.dense[0].weight.size(), 32U * 16U);
  EXPECT_TRUE(files.dense[0].bias.empty());
  EXPECT_FALSE(files.dense[0].has_tanh || files.normalises);
}

TEST_F(SentenceFilesTest, RankersByTheLogitsOfTokens) {
  std::filesystem::create_directory(folder_.path() + "/1_LogitScore");
  folder_.write("modules.json", R"([
    {"path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"},
    {"path": "1_LogitScore",
     "type": "sentence_transformers.cross_encoder.modules.logit_score.LogitScore"}])");
  const auto score = [&](std::string_view json) {
    return error_with("1_LogitScore/config.json", json);
  };
  const auto model = [&](std::string_view json) {
    return error_with("sentence_bert_config.json", json);
  };
  EXPECT_EQ(score(R"({"true_token_id": 7, "false_token_id": null})"), "");
  EXPECT_EQ(read().logit_score->true_token, 7);
  EXPECT_FALSE(read().logit_score->false_token || read().logit_score->by_template);
  EXPECT_NE(score(R"({"false_token_id": 7})").find("'true_token_id'"), std::string::npos);
  EXPECT_EQ(score(R"({"true_token_id": -1})"),
            "1_LogitScore/config.json: 'true_token_id' is not in the range 0 to 2^31 - 1");
  EXPECT_EQ(score(R"({"true_token_id": 7, "scale": 2})"),
            "1_LogitScore/config.json: 'scale' is 2, which is not supported");
  EXPECT_EQ(score(R"({"true_token_id": 7, "module_input_name": "logits"})"),
            "1_LogitScore/config.json: 'module_input_name' is not \"causal_logits\"");
  EXPECT_EQ(score(R"({"true_token_id": 7, "false_token_id": 9})"), "");
  EXPECT_EQ(read().logit_score->false_token, 9);
  EXPECT_EQ(model(R"({"transformer_task": "text-generation",
                      "modality_config": {"text": {"method_output_name": "logits"},
                                          "message": {"method_output_name": "logits",
                                                      "format": "flat"}}})"),
            "");
  EXPECT_TRUE(read().logit_score->by_template);
  EXPECT_FALSE(read().logit_score->lists_parts);
  EXPECT_EQ(model(R"({"modality_config": {"message": {"format": "odd"}}})"),
            "sentence_bert_config.json: 'modality_config.message.format' is neither \"flat\" nor "
            "\"structured\"");
  EXPECT_NE(model(R"({"transformer_task": "feature-extraction"})").find("\"text-generation\""),
            std::string::npos);
  EXPECT_NE(error_with("config_sentence_transformers.json", R"({"model_type": "SparseEncoder"})")
                .find("'transformer_task'"),
            std::string::npos);
}

}  // namespace
}  // namespace ruv
