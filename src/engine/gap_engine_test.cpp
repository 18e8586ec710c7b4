// What editors ask of answers that fill a gap, on the built-in model: tokens are forced by a bias.
#include <gtest/gtest.h>

#include "ruv/stream.h"

namespace ruv {
namespace {

class GapEngine : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = load_model(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf").value();
    engine_ = Engine::create(model_, {.n_threads = 1, .n_ctx = 128, .max_sequences = 1}).value();
  }
  static void TearDownTestSuite() {
    engine_.reset();
    model_.reset();
  }

  static Token only(std::string_view text) {
    const Token id = tokenize(*model_, text).value().back();
    EXPECT_EQ(detokenize(*model_, std::span(&id, 1)).value(), text);
    return id;
  }
  // An answer of one token only, as often as it may come.
  static GenerateParams repeating(std::string_view text) {
    return {.max_tokens = 50, .temperature = 0, .logit_bias = {{only(text), 1000.0F}}};
  }
  static Answer answered(const GenerateParams& params) {
    const std::vector<Token> prompt = tokenize(*model_, "Hello").value();
    return generate(*engine_, prompt, params).value();
  }

  static std::shared_ptr<const Model> model_;
  static std::unique_ptr<Engine> engine_;
};
std::shared_ptr<const Model> GapEngine::model_;
std::unique_ptr<Engine> GapEngine::engine_;

TEST_F(GapEngine, AnswersEndWithTheLineThatTimeCuts) {
  GenerateParams lines = repeating("\n");
  lines.max_tokens = 100;
  EXPECT_EQ(answered(lines).timings.n_generated_tokens, 100);
  lines.max_predict_ms = 1;
  const Answer cut = answered(lines);
  EXPECT_EQ(cut.finish, FinishReason::length);
  EXPECT_LT(cut.timings.n_generated_tokens, 100);
  EXPECT_EQ(cut.text.back(), '\n');
  GenerateParams one_line = repeating("a");
  one_line.max_predict_ms = 1;
  EXPECT_EQ(answered(one_line).timings.n_generated_tokens, 50);
}

TEST_F(GapEngine, AnswersEndBeforeALineOutsideTheirBlock) {
  GenerateParams params = repeating("\n");
  params.min_indent = 1;
  const Answer answer = answered(params);
  EXPECT_EQ(answer.text, "\n");
  EXPECT_EQ(answer.finish, FinishReason::length);
  EXPECT_EQ(answer.timings.n_generated_tokens, 2);
}

}  // namespace
}  // namespace ruv
