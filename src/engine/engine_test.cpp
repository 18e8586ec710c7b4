// The engine on the built-in model: limits, ends, refusals and what an answer reports.
#include "ruv/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <future>
#include <thread>

#include "engine/batch_engine.h"
#include "engine/sample/sampler.h"
#include "fault/held_executor.h"
#include "ruv/logits.h"
#include "ruv/stream.h"

namespace ruv {
namespace {

class EngineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto model = load_model(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf");
    ASSERT_TRUE(model.has_value()) << model.error().message();
    model_ = *model;
    auto engine =
        Engine::create(model_, {.n_threads = 2, .n_ctx = 256, .max_sequences = 2, .max_queue = 3});
    ASSERT_TRUE(engine.has_value()) << engine.error().message();
    engine_ = std::move(*engine);
  }
  static void TearDownTestSuite() {
    engine_.reset();
    model_.reset();
  }

  static std::vector<Token> question(const std::string& text) {
    return tokenize_chat(*model_, {{text_message("user", text)}}).value();
  }
  static GenerateParams greedy(int64_t max_tokens) {
    GenerateParams p;
    p.temperature = 0;
    p.max_tokens = max_tokens;
    return p;
  }
  static Answer ask(const GenerateParams& params,
                    const std::string& text = "What is the capital of France?") {
    auto answer = generate(*engine_, question(text), params);
    EXPECT_TRUE(answer.has_value()) << answer.error().message();
    return answer ? *answer : Answer{};
  }

  static std::shared_ptr<const Model> model_;
  static std::unique_ptr<Engine> engine_;
};
std::shared_ptr<const Model> EngineTest::model_;
std::unique_ptr<Engine> EngineTest::engine_;

TEST_F(EngineTest, AnswersAndReportsExactly) {
  std::string streamed;
  const std::vector<Token> prompt = question("What is the capital of France?");
  const Answer answer = generate(*engine_, prompt, greedy(50), [&](std::string_view text) {
                          streamed += text;
                        }).value();
  EXPECT_EQ(answer.text, "The capital of France is Paris.");
  EXPECT_EQ(streamed, answer.text);
  EXPECT_EQ(answer.finish, FinishReason::stop);
  EXPECT_EQ(detokenize(*model_, answer.ids).value(), answer.text);
  EXPECT_EQ(answer.timings.n_prompt_tokens, static_cast<int64_t>(prompt.size()));
  EXPECT_EQ(answer.timings.n_generated_tokens, static_cast<int64_t>(answer.ids.size()));
}

TEST_F(EngineTest, GreedyIdsAreTheArgmaxOfTheLogits) {
  std::vector<Token> ids = question("What is the capital of France?");
  const Answer answer = ask(greedy(6));
  const size_t n_prompt = ids.size();
  ids.insert(ids.end(), answer.ids.begin(), answer.ids.end());
  std::vector<Token> best;
  ASSERT_TRUE(compute_logits(
                  *model_, ids,
                  {.n_threads = 1,
                   .chunk_tokens = 7,
                   .all = true,
                   .kv_type = default_kv_type(model_info(*model_).head_dim)},
                  [&](int64_t, std::span<const float> logits) { best.push_back(argmax(logits)); })
                  .ok());
  for (size_t i = 0; i < answer.ids.size(); ++i) EXPECT_EQ(best[n_prompt - 1 + i], answer.ids[i]);
}

// With the few tails that one sequence needs.
TEST_F(EngineTest, LogitsOfTieredPagesDoNotDependOnChunks) {
  std::vector<Token> ids;
  for (Token i = 0; i < 700; ++i) ids.push_back(100 + i * 37 % 1000);
  const auto logits = [&](int64_t chunk_tokens, KvType type) {
    std::vector<float> last;
    const Status status = compute_logits(
        *model_, ids, {.n_threads = 1, .chunk_tokens = chunk_tokens, .kv_type = type},
        [&](int64_t, std::span<const float> row) { last.assign(row.begin(), row.end()); });
    EXPECT_TRUE(status.ok()) << status.message();
    return last;
  };
  const std::vector<float> expected = logits(700, KvType::int4);
  for (const int64_t chunk_tokens : {16, 37, 256, 512}) {
    EXPECT_EQ(logits(chunk_tokens, KvType::int4), expected) << chunk_tokens;
  }
  EXPECT_NE(logits(512, KvType::f16), expected);
}

TEST_F(EngineTest, LogitsAreOfKnownTokensOnly) {
  const auto code = [&](std::span<const Token> ids) {
    return compute_logits(*model_, ids, {.n_threads = 1}, [](int64_t, std::span<const float>) {})
        .code();
  };
  const auto n_vocab = static_cast<Token>(model_info(*model_).n_vocab);
  EXPECT_EQ(code(std::vector<Token>{0, n_vocab - 1}), Code::ok);
  EXPECT_EQ(code(std::vector<Token>{1, n_vocab}), Code::invalid);
  EXPECT_EQ(code(std::vector<Token>{-1}), Code::invalid);
  EXPECT_EQ(code({}), Code::invalid);
}

TEST_F(EngineTest, LogitsEndWithTheLearnedPositions) {
  const auto model = load_model(RUV_SOURCE_DIR "/tests/golden/models/gpt2/model.gguf").value();
  const auto n = static_cast<size_t>(model_info(*model).n_ctx_train);
  const auto code = [&](size_t n_tokens) {
    return compute_logits(*model, std::vector<Token>(n_tokens, 1), {.n_threads = 1},
                          [](int64_t, std::span<const float>) {})
        .code();
  };
  EXPECT_EQ(code(n), Code::ok);
  EXPECT_EQ(code(n + 1), Code::invalid);
}

TEST_F(EngineTest, EndsWhereAsked) {
  EXPECT_EQ(ask(greedy(3)).finish, FinishReason::length);
  EXPECT_EQ(ask(greedy(3)).ids.size(), 3U);
  EXPECT_EQ(ask(greedy(0)).ids.size(), 0U);

  GenerateParams stop = greedy(50);
  stop.stop = {" France", "never"};
  EXPECT_EQ(ask(stop).text, "The capital of");
  EXPECT_EQ(ask(stop).finish, FinishReason::stop);

  const std::vector<Token> ids = ask(greedy(50)).ids;
  GenerateParams token = greedy(50);
  token.stop_tokens = {ids[2]};
  EXPECT_EQ(ask(token).ids, std::vector<Token>(ids.begin(), ids.begin() + 2));

  GenerateParams on = greedy(40);
  on.ignore_eos = true;
  EXPECT_EQ(ask(on).ids.size(), 40U);
}

// "The capital of France is Paris." and an end token, unless these limits say otherwise.
TEST_F(EngineTest, AnswersHaveTheTokensThatTheyMay) {
  const std::vector<Token> ids = ask(greedy(50)).ids;
  const auto n = static_cast<int64_t>(ids.size());
  GenerateParams longer = greedy(50);
  longer.min_tokens = n;
  EXPECT_EQ(ask(longer).ids, ids);
  longer.min_tokens = n + 1;
  EXPECT_GT(ask(longer).ids.size(), ids.size());
  longer.max_tokens = n + 1;
  EXPECT_EQ(ask(longer).finish, FinishReason::length);
  // Tokens that are asked to end it, and texts, do so after them only.
  GenerateParams token = greedy(4);
  token.stop_tokens = {ids[2]};
  token.min_tokens = 2;
  EXPECT_EQ(ask(token).ids, std::vector<Token>(ids.begin(), ids.begin() + 2));
  token.min_tokens = 3;
  ASSERT_GE(ask(token).ids.size(), 3U);
  EXPECT_NE(ask(token).ids[2], ids[2]);
  GenerateParams text = greedy(50);
  text.stop = {" capital", "is"};
  EXPECT_EQ(ask(text).text, "The");
  text.min_tokens = 2;
  EXPECT_EQ(ask(text).text, "The capital of France ");

  GenerateParams without = greedy(50);
  without.bad_words = {"capital"};
  EXPECT_EQ(ask(without).text.find("capital"), std::string::npos);
  EXPECT_NE(ask(without).text, "");

  GenerateParams only = greedy(5);
  only.allowed_token_ids = {ids[0], ids[3]};
  for (const Token id : ask(only).ids) EXPECT_TRUE(id == ids[0] || id == ids[3]);
  EXPECT_EQ(ask(only).finish, FinishReason::length);
  only.allowed_token_ids = only.stop_tokens = {ids[0]};
  EXPECT_EQ(ask(only).ids.size(), 0U);
  only.min_tokens = 1;
  const auto none = generate(*engine_, question("What is the capital of France?"), only);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code(), Code::invalid);
}

TEST_F(EngineTest, BadWordsNeedATokenizer) {
  const auto bare = load_model(RUV_SOURCE_DIR "/tests/golden/models/llama2/model.gguf").value();
  const auto engine = Engine::create(bare, {.n_ctx = 32, .max_sequences = 1}).value();
  Request request = {.prompt = {1, 2, 3}};
  request.params.bad_words = {"a"};
  const auto refused = engine->submit(std::move(request));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Code::unsupported);
}

TEST_F(EngineTest, AFullContextEndsTheAnswerWithLength) {
  GenerateParams on = greedy(-1);
  on.ignore_eos = true;
  const Answer answer = ask(on);
  EXPECT_EQ(answer.finish, FinishReason::length);
  EXPECT_EQ(answer.timings.n_prompt_tokens + answer.timings.n_generated_tokens, 256);
}

TEST_F(EngineTest, BiasSeedAndLogprobsDoWhatTheySay) {
  const std::vector<Token> ids = ask(greedy(5)).ids;
  GenerateParams banned = greedy(5);
  banned.logit_bias = {{ids[0], -1000.0F}};
  EXPECT_NE(ask(banned).ids[0], ids[0]);

  GenerateParams hot;
  hot.temperature = 1.5;
  hot.top_k = 0;
  hot.min_p = 0;
  hot.max_tokens = 20;
  hot.ignore_eos = true;
  hot.seed = 7;
  EXPECT_EQ(ask(hot).ids, ask(hot).ids);
  EXPECT_EQ(ask(hot).seed, 7U);
  GenerateParams other = hot;
  other.seed = 8;
  EXPECT_NE(ask(hot).ids, ask(other).ids);
  other.seed.reset();
  EXPECT_NE(ask(other).seed, ask(other).seed);

  GenerateParams probs = greedy(4);
  probs.n_logprobs = 3;
  const Answer answer = ask(probs);
  ASSERT_EQ(answer.logprobs.size(), answer.ids.size());
  for (size_t i = 0; i < answer.ids.size(); ++i) {
    EXPECT_EQ(answer.logprobs[i].chosen.id, answer.ids[i]);
    ASSERT_EQ(answer.logprobs[i].top.size(), 3U);
    EXPECT_EQ(answer.logprobs[i].top[0].id, answer.ids[i]);
    EXPECT_LE(answer.logprobs[i].top[0].logprob, 0);
  }
}

TEST_F(EngineTest, RefusesWithBothNumbersAndNames) {
  const std::vector<Token> prompt(300, 5);
  const auto refusal = [&](std::vector<Token> ids, const GenerateParams& params) {
    const Result<RequestId> id = engine_->submit({std::move(ids), params, {}});
    EXPECT_FALSE(id.has_value());
    return id ? "" : id.error().message();
  };
  const std::string too_long = refusal(prompt, greedy(1));
  EXPECT_NE(too_long.find("300"), std::string::npos);
  EXPECT_NE(too_long.find("256"), std::string::npos);
  EXPECT_NE(refusal({}, greedy(1)).find("empty"), std::string::npos);
  EXPECT_NE(refusal({999999}, greedy(1)).find("999999"), std::string::npos);
  GenerateParams bad = greedy(1);
  bad.top_p = 1.5;
  EXPECT_NE(refusal({1}, bad).find("top_p"), std::string::npos);
  bad = greedy(1);
  bad.logit_bias = {{-3, 1.0F}};
  EXPECT_NE(refusal({1}, bad).find("logit_bias"), std::string::npos);
  bad = greedy(1);
  bad.stop = {""};
  EXPECT_NE(refusal({1}, bad).find("stop"), std::string::npos);
  bad = greedy(1);
  bad.temperature = std::nan("");
  EXPECT_NE(refusal({1}, bad).find("temperature"), std::string::npos);
  bad = greedy(1);
  bad.seed = uint64_t{1} << 60;
  EXPECT_NE(refusal({1}, bad).find("seed"), std::string::npos);
  for (const int n : {-2, 21}) {
    bad = greedy(1);
    bad.n_logprobs = n;
    EXPECT_NE(refusal({1}, bad).find("logprobs"), std::string::npos);
  }
  for (const float bias : {1001.0F, -1001.0F, std::nanf("")}) {
    bad = greedy(1);
    bad.logit_bias = {{0, bias}};
    EXPECT_NE(refusal({1}, bad).find("logit_bias"), std::string::npos);
  }
  bad = greedy(1);
  bad.stop_tokens = {static_cast<Token>(model_info(*model_).n_vocab)};
  EXPECT_NE(refusal({1}, bad).find("stop_tokens"), std::string::npos);
  GenerateParams edge = greedy(1);
  edge.logit_bias = {{0, -1000.0F}, {1, 1000.0F}};
  edge.stop_tokens = {0};
  edge.n_logprobs = 20;
  EXPECT_EQ(ask(edge).ids, std::vector<Token>{1});
}

// A tenant and a salt with NUL in them could be another tenant and salt.
TEST_F(EngineTest, RefusesTermsThatAreNoScope) {
  using namespace std::string_literals;
  const auto code = [&](const std::string& tenant, const std::string& salt) {
    Request request{{1}, greedy(0), {}};
    request.terms.tenant = tenant;
    request.terms.cache_salt = salt;
    const Result<RequestId> id = engine_->submit(std::move(request));
    return id ? Code::ok : id.error().code();
  };
  EXPECT_EQ(code("a\0b"s, ""), Code::invalid);
  EXPECT_EQ(code("a", "b\0"s), Code::invalid);
  EXPECT_EQ(code("\0"s, ""), Code::invalid);
  EXPECT_EQ(code("a", "\0"s), Code::invalid);
  EXPECT_EQ(code(std::string(kMaxTermBytes + 1, 'a'), ""), Code::invalid);
  EXPECT_EQ(code("", std::string(kMaxTermBytes + 1, 'a')), Code::invalid);
  EXPECT_EQ(code(std::string(kMaxTermBytes, 'a'), std::string(kMaxTermBytes, 'b')), Code::ok);
}

TEST_F(EngineTest, TheQueueTakesWhatItSaysAndNoMore) {
  constexpr int64_t kQueue = 3;
  const EngineOptions options =
      complete_options({.n_threads = 1, .n_ctx = 128, .max_sequences = 1, .max_queue = kQueue},
                       *model_)
          .value();
  EngineParts parts = std::move(*make_parts(*model_, options));
  auto held = std::make_unique<HeldExecutor>(std::move(parts.executor));
  HeldExecutor& executor = *held;
  executor.let_pass(1);
  parts.executor = std::move(held);
  BatchEngine engine(model_, options, std::move(parts));
  const auto submit = [&] { return engine.submit({{1}, greedy(20), {}}); };
  ASSERT_TRUE(submit().has_value());
  executor.wait_for_entry();
  EXPECT_EQ(engine.load().n_running, 1);
  for (int64_t i = 0; i < kQueue; ++i) {
    EXPECT_EQ(engine.load().n_waiting, i);
    ASSERT_TRUE(submit().has_value()) << i;
  }
  for (int64_t i = 1; i <= 2; ++i) {
    EXPECT_EQ(submit().error().code(), Code::unavailable);
    EXPECT_EQ(engine.load().n_refused, i);
    EXPECT_EQ(engine.load().n_waiting, kQueue);
  }
}

TEST_F(EngineTest, AFullQueueIsRefusedAndCancelEndsEverything) {
  std::vector<std::promise<FinishReason>> ends(16);
  std::vector<RequestId> ids;
  int refused = 0;
  for (std::promise<FinishReason>& end : ends) {
    GenerateParams forever = greedy(-1);
    forever.ignore_eos = true;
    const Result<RequestId> id =
        engine_->submit({question("Hi"), forever, [&end](const Event& event) {
                           if (event.finish != FinishReason::none) end.set_value(event.finish);
                         }});
    if (id) {
      ids.push_back(*id);
    } else {
      EXPECT_EQ(id.error().code(), Code::unavailable);
      ++refused;
      end.set_value(FinishReason::error);
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(engine_->load().n_refused, refused);
  for (RequestId id : ids) engine_->cancel(id);
  engine_->cancel(123456789);
  for (std::promise<FinishReason>& end : ends)
    EXPECT_NE(end.get_future().get(), FinishReason::none);
}

TEST_F(EngineTest, DestroyingTheEngineEndsItsRequests) {
  auto engine = std::move(*Engine::create(model_, {.n_threads = 1, .n_ctx = 1024}));
  std::promise<FinishReason> end;
  GenerateParams forever = greedy(-1);
  forever.ignore_eos = true;
  ASSERT_TRUE(engine
                  ->submit({question("Hi"), forever,
                            [&](const Event& event) {
                              if (event.finish != FinishReason::none) end.set_value(event.finish);
                            }})
                  .has_value());
  engine.reset();
  EXPECT_NE(end.get_future().get(), FinishReason::none);
}

TEST_F(EngineTest, OptionsOutOfRangeAreRefused) {
  EXPECT_EQ(Engine::create(model_, {.n_ctx = 1 << 20}).error().code(), Code::invalid);
  EXPECT_EQ(Engine::create(model_, {.max_sequences = 0}).error().code(), Code::invalid);
  EXPECT_EQ(Engine::create(nullptr).error().code(), Code::invalid);
}

}  // namespace
}  // namespace ruv
