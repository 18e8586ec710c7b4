// Answers that are longer than the context, on the built-in model: as if each part were asked for
// with the tokens that were left.
#include "engine/context_shift.h"

#include <gtest/gtest.h>

#include "model/model.h"
#include "ruv/stream.h"
#include "text/tokenizer.h"

namespace ruv {
namespace {

constexpr int64_t kContext = 96;

TEST(DroppedTokens, LeaveAtLeastAQuarter) {
  for (int64_t n = 2; n < 70; ++n) {
    for (int64_t n_keep = 0; n_keep < 80; ++n_keep) {
      const DroppedTokens dropped = dropped_tokens(n, n_keep);
      EXPECT_EQ(dropped.begin, std::min(n_keep, n / 2));
      EXPECT_GE(dropped.size(), std::max<int64_t>(1, n / 4));
      EXPECT_LE(dropped.end, n);
    }
  }
  EXPECT_EQ(dropped_tokens(100, 20).end, 60);
}

class ContextShift : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = load_model(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf").value();
    question_ =
        tokenize_chat(*model_, {{text_message("user", "Tell a story of a fox and a river.")}})
            .value();
  }
  static void TearDownTestSuite() { model_.reset(); }

  static std::unique_ptr<Engine> engine() {
    return Engine::create(model_, {.n_threads = 2, .n_ctx = kContext, .max_sequences = 3}).value();
  }
  static GenerateParams endless(int64_t max_tokens) {
    return {.max_tokens = max_tokens, .temperature = 0, .ignore_eos = true};
  }
  static GenerateParams shifting(int64_t max_tokens, int64_t n_keep) {
    GenerateParams params = endless(max_tokens);
    params.context_shift = true;
    params.n_keep = n_keep;
    return params;
  }

  // What an engine says that is asked anew whenever its context is full.
  static std::vector<Token> by_hand(size_t n, int64_t n_keep) {
    const auto engine = ContextShift::engine();
    std::vector<Token> context = question_;
    std::vector<Token> answer;
    while (answer.size() < n) {
      const auto part = generate(*engine, context, endless(-1));
      answer.insert(answer.end(), part->ids.begin(), part->ids.end());
      context.insert(context.end(), part->ids.begin(), part->ids.end());
      const DroppedTokens dropped = dropped_tokens(kContext, n_keep);
      context.erase(context.begin() + dropped.begin, context.begin() + dropped.end);
    }
    answer.resize(n);
    return answer;
  }

  static std::shared_ptr<const Model> model_;
  static std::vector<Token> question_;
};
std::shared_ptr<const Model> ContextShift::model_;
std::vector<Token> ContextShift::question_;

TEST_F(ContextShift, TheAnswerIsThatOfTheTokensThatAreLeft) {
  const auto engine = ContextShift::engine();
  constexpr int64_t kTokens = 400;
  const int64_t n_prompt = std::ssize(question_);
  for (const int64_t n_keep : {int64_t{0}, int64_t{10}, int64_t{-1}, kContext}) {
    const auto answer = generate(*engine, question_, shifting(kTokens, n_keep));
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->finish, FinishReason::length);
    EXPECT_EQ(answer->timings.n_generated_tokens, kTokens);
    EXPECT_EQ(answer->timings.n_prompt_tokens, n_prompt);
    const bool has_bos = model_->tokenizer->spec().bos == question_.front();
    const int64_t n_kept = n_keep < 0 ? n_prompt : n_keep + (has_bos ? 1 : 0);
    EXPECT_EQ(answer->ids, by_hand(kTokens, n_kept)) << n_keep;
    EXPECT_GE(answer->timings.n_dropped_tokens, kTokens - kContext);
  }
}

// Shifts happen at other steps of the engine, and others' prompts come between.
TEST_F(ContextShift, BytesDoNotDependOnWhatElseRuns) {
  GenerateParams params = shifting(300, 10);
  params.temperature = 0.9;
  params.seed = 5;
  params.repetition_penalty = 1.1;
  params.frequency_penalty = 0.2;
  const auto alone = generate(*engine(), question_, params);
  params.speculative = false;
  params.cache_prefix = false;
  const auto engine = ContextShift::engine();
  std::vector<Stream> streams;
  for (int i = 0; i < 3; ++i) {
    streams.push_back(engine->stream({.prompt = question_, .params = params}).value());
  }
  for (Stream& stream : streams) {
    std::vector<Token> ids;
    while (const auto event = stream.next()) {
      ids.insert(ids.end(), event->ids.begin(), event->ids.end());
    }
    EXPECT_EQ(ids, alone->ids);
  }
}

TEST_F(ContextShift, WithoutItAnAnswerEndsWithItsContext) {
  const auto answer = generate(*engine(), question_, endless(400));
  EXPECT_EQ(answer->finish, FinishReason::length);
  EXPECT_EQ(answer->timings.n_generated_tokens + std::ssize(question_), kContext);
  EXPECT_EQ(answer->timings.n_dropped_tokens, 0);
}

}  // namespace
}  // namespace ruv
