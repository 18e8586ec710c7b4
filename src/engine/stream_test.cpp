// Streams on the built-in model: what is pulled is what generate() gathers, and each way to end one
// early.
#include "ruv/stream.h"

#include <gtest/gtest.h>

#include <future>

namespace ruv {
namespace {

class StreamTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = load_model(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf").value();
  }
  static void TearDownTestSuite() { model_.reset(); }

  static std::unique_ptr<Engine> engine() {
    return Engine::create(model_, {.n_threads = 1, .n_ctx = 256, .max_sequences = 2}).value();
  }
  static std::vector<Token> question() {
    return tokenize_chat(*model_, {{text_message("user", "What is the capital of France?")}})
        .value();
  }
  // A request that runs until its context is full.
  static Request endless() {
    return {.prompt = question(), .params = {.temperature = 0, .ignore_eos = true}};
  }

  static std::shared_ptr<const Model> model_;
};
std::shared_ptr<const Model> StreamTest::model_;

TEST_F(StreamTest, WhatIsPulledIsTheAnswer) {
  const auto engine = this->engine();
  const GenerateParams greedy{.max_tokens = 20, .temperature = 0};
  Stream stream = engine->stream({.prompt = question(), .params = greedy}).value();
  std::string text;
  FinishReason finish = FinishReason::none;
  while (const auto event = stream.next()) {
    EXPECT_EQ(finish, FinishReason::none);
    text += event->text;
    finish = event->finish;
  }
  EXPECT_EQ(text, "The capital of France is Paris.");
  EXPECT_EQ(finish, FinishReason::stop);
  EXPECT_FALSE(stream.next());
  EXPECT_EQ(generate(*engine, question(), greedy)->text, text);
}

TEST_F(StreamTest, RefusesAsSubmitDoes) {
  EXPECT_EQ(engine()->stream({}).error().code(), Code::invalid);
}

TEST_F(StreamTest, CancelEndsTheAnswer) {
  const auto engine = this->engine();
  Stream stream = engine->stream(endless()).value();
  ASSERT_TRUE(stream.next());
  stream.cancel();
  EXPECT_EQ(stream.collect()->finish, FinishReason::cancelled);
  stream.cancel();
  EXPECT_FALSE(stream.next());
}

TEST_F(StreamTest, TheDestructorCancels) {
  const auto engine = this->engine();
  std::promise<FinishReason> last;
  {
    Request request = endless();
    request.on_event = [&](const Event& event) {
      if (event.finish != FinishReason::none) last.set_value(event.finish);
    };
    const auto stream = engine->stream(std::move(request));
    ASSERT_TRUE(stream);
  }
  EXPECT_EQ(last.get_future().get(), FinishReason::cancelled);
}

TEST_F(StreamTest, CollectAsksWhetherToStop) {
  const auto engine = this->engine();
  Stream stream = engine->stream(endless()).value();
  const auto answer = stream.collect({}, [] { return true; });
  EXPECT_EQ(answer->finish, FinishReason::cancelled);
}

TEST_F(StreamTest, ADeadlineIsAnError) {
  const auto engine = this->engine();
  Request request = endless();
  request.terms.timeout_ms = 1;
  EXPECT_EQ(engine->stream(std::move(request))->collect().error().code(), Code::deadline);
}

TEST_F(StreamTest, MayOutliveItsEngine) {
  auto engine = this->engine();
  Stream stream = engine->stream(endless()).value();
  Stream moved = std::move(stream);
  engine.reset();
  EXPECT_EQ(moved.collect()->finish, FinishReason::cancelled);
  moved.cancel();
  EXPECT_FALSE(stream.next());
}

}  // namespace
}  // namespace ruv
