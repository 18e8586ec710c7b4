// Answers of a real engine in a log, and run again from it.
#include "audit/audited_engine.h"

#include <gtest/gtest.h>

#include "audit/audit_replay.h"
#include "audit/test_audit.h"
#include "ruv/stream.h"

namespace ruv::audited_engine_test {
namespace {

constexpr const char* kModel = RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf";

class AuditedEngineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = *load_model(kModel);
    WorkerPool pool(2);
    digest_ = hex_of(*files_digest(kModel, pool));
  }
  static void TearDownTestSuite() { model_.reset(); }

  static std::unique_ptr<Engine> plain_engine(KvType kv = KvType::f16) {
    EngineOptions options{.n_threads = 2, .n_ctx = 512, .max_sequences = 4};
    options.kv.type = kv;
    return std::move(*Engine::create(model_, options));
  }
  AuditedEngineTest() : folder_("engine") {}
  void open(AuditContents contents, AuditLogOptions options = {}) {
    options.contents = contents;
    log_ = std::move(
        *AuditLog::start(std::move(*AuditStore::open({.folder = folder_.path()})), options));
    engine_ = std::make_unique<AuditedEngine>(
        plain_engine(),
        AnsweringEngine{.model = "nano", .model_digest = digest_, .kv_type = "f16", .n_ctx = 512},
        std::vector<AdapterUse>(), *log_);
  }
  Answer ask(const std::string& text, GenerateParams params = {}, const std::string& id = "req-x") {
    Request request;
    request.prompt = *tokenize_chat(*model_, {{text_message("user", text)}});
    request.params = std::move(params);
    if (request.params.max_tokens < 0) request.params.max_tokens = 24;
    request.terms.request_id = id;
    request.terms.tenant = "someone";
    return *engine_->stream(std::move(request))->collect();
  }
  // Closes the log and runs all its answers again.
  std::vector<Replay> replay_all(const std::vector<Token>* prompt = nullptr,
                                 KvType kv = KvType::f16) {
    EXPECT_TRUE(log_->flush().ok());
    const AuditStore store = std::move(*AuditStore::read(folder_.path()));
    const AuditKey key = std::move(*AuditKey::read(folder_.path() + "/audit.key"));
    const auto engine = plain_engine(kv);
    AuditReplay replay(store, *engine, model_, digest_);
    std::vector<Replay> all;
    const int64_t n = (*store.last_head())->last;
    for (int64_t i = 1; i <= n; ++i) {
      auto one = replay.run(i, prompt, prompt != nullptr ? &key : nullptr);
      EXPECT_TRUE(one) << one.error().message();
      if (one) all.push_back(*one);
    }
    return all;
  }
  Json body(int64_t entry) {
    EXPECT_TRUE(log_->flush().ok());
    return *parse_json(*AuditStore::read(folder_.path())->body(entry), "entry");
  }

  static std::shared_ptr<const Model> model_;
  static std::string digest_;
  AuditFolder folder_;
  std::unique_ptr<AuditLog> log_;
  std::unique_ptr<Engine> engine_;
};
std::shared_ptr<const Model> AuditedEngineTest::model_;
std::string AuditedEngineTest::digest_;

TEST_F(AuditedEngineTest, AnEntrySaysWhatWasAskedAndAnswered) {
  open(AuditContents::kept);
  const Answer answer = ask("What is the capital of France?", {.temperature = 0}, "req-1");
  const Json entry = body(1);
  EXPECT_EQ(entry["id"], Json("req-1"));
  EXPECT_EQ(entry["tenant"], Json("someone"));
  EXPECT_EQ(entry["model"], Json("nano"));
  EXPECT_EQ(entry["engine"]["model_digest"], Json(digest_));
  EXPECT_EQ(entry["request"]["params"]["temperature"], Json(0.0));
  EXPECT_EQ(entry["request"]["params"]["seed"], Json(std::to_string(answer.seed)));
  EXPECT_EQ(entry["tokens"]["answer"], Json(answer.timings.n_generated_tokens));
  EXPECT_EQ(entry["finish"], Json(std::string(finish_reason_name(answer.finish))));
  const auto contents = *AuditStore::read(folder_.path())->contents(1);
  ASSERT_TRUE(contents);
  EXPECT_EQ(contents->text, answer.text);
  EXPECT_EQ(contents->answer, bytes_of_ids(answer.ids));
}

TEST_F(AuditedEngineTest, WhatIsNotKeptIsNotInTheFile) {
  open(AuditContents::off);
  ask("a question about Xylophones", {.stop = {"Zebra"}});
  EXPECT_EQ(body(1).find("digests"), nullptr);
  EXPECT_EQ(body(1).dump().find("Zebra"), std::string::npos);
  const auto contents = AuditStore::read(folder_.path())->contents(1);
  ASSERT_TRUE(contents);
  EXPECT_FALSE(*contents);
  const std::vector<Replay> replays = replay_all();
  ASSERT_EQ(replays.size(), 1U);
  EXPECT_EQ(replays[0].result, ReplayResult::not_run);
}

// Requests of all kinds: drawn options, forms, vectors, ends from outside.
TEST_F(AuditedEngineTest, AnswersRunAgainGiveTheSameBytes) {
  open(AuditContents::kept);
  Rng rng(4);
  for (int i = 0; i < 12; ++i) {
    GenerateParams params{.max_tokens = 5 + static_cast<int64_t>(rng.below(30)),
                          .temperature = 0.2 + rng.uniform(),
                          .top_k = static_cast<int64_t>(rng.below(60)),
                          .top_p = 0.5 + rng.uniform() / 2,
                          .repetition_penalty = 1 + rng.uniform() / 5,
                          .logit_bias = {{static_cast<Token>(rng.below(200)), 1.5F}},
                          .stop = {i % 3 == 0 ? "e" : "zzz"},
                          .token_healing = i % 4 == 1};
    ask("Say something about number " + std::to_string(i), params);
  }
  Request formed;
  formed.prompt = *tokenize_chat(*model_, {{text_message("user", "A colour?")}});
  formed.params.max_tokens = 30;
  formed.form = *engine_->load_form(
      {.kind = AnswerForm::Kind::json_schema, .text = R"({"enum": ["red", "green", 3]})"});
  ASSERT_TRUE(engine_->stream(formed)->collect());
  ASSERT_TRUE(engine_->classify({1, 2, 3}).has_value() ||
              engine_->embed({1, 2, 3}, {.pooling = Pooling::mean}).has_value());
  {
    Request request;
    request.prompt = formed.prompt;
    request.params = {.max_tokens = 400, .ignore_eos = true};
    Stream stream = std::move(*engine_->stream(request));
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(stream.next());
    stream.cancel();
    while (stream.next()) {
    }
  }
  const std::vector<Replay> replays = replay_all();
  EXPECT_EQ(replays.size(), 15U);
  for (const Replay& replay : replays)
    EXPECT_EQ(replay.result, ReplayResult::same) << replay.entry << ": " << replay.why;
}

// A log that the key's owner wrote wrongly: the signature is right, the answer is not the model's.
TEST_F(AuditedEngineTest, AnAnswerThatTheModelDidNotGiveIsFound) {
  open(AuditContents::kept);
  const std::vector<Token> prompt = *tokenize_chat(*model_, {{text_message("user", "Hello")}});
  FinishedRequest made;
  made.engine = std::make_shared<AnsweringEngine>(
      AnsweringEngine{.model = "nano", .model_digest = digest_, .kv_type = "f16", .n_ctx = 512});
  made.request.prompt = prompt;
  made.request.params.seed = 1;
  made.request.params.max_tokens = 8;
  made.finish = FinishReason::stop;
  made.text = "I was never said";
  made.ids = *tokenize(*model_, made.text);
  log_->add(made);
  made.engine = std::make_shared<AnsweringEngine>(
      AnsweringEngine{.model = "nano", .model_digest = "00ff", .kv_type = "f16", .n_ctx = 512});
  log_->add(made);
  const std::vector<Replay> replays = replay_all();
  ASSERT_EQ(replays.size(), 2U);
  EXPECT_EQ(replays[0].result, ReplayResult::different);
  EXPECT_NE(replays[0].why.find("token 1 of"), std::string::npos) << replays[0].why;
  EXPECT_EQ(replays[1].result, ReplayResult::not_run);
  EXPECT_NE(replays[1].why.find("00ff"), std::string::npos);
}

TEST_F(AuditedEngineTest, DigestsAloneAreComparedWithThePromptAndTheKey) {
  open(AuditContents::hashed);
  ask("Hello", {.temperature = 1});
  const std::vector<Token> prompt = *tokenize_chat(*model_, {{text_message("user", "Hello")}});
  const std::vector<Token> other = *tokenize_chat(*model_, {{text_message("user", "Bye")}});
  EXPECT_EQ(replay_all().at(0).result, ReplayResult::not_run);
  EXPECT_EQ(replay_all(&prompt).at(0).result, ReplayResult::same);
  EXPECT_EQ(replay_all(&other).at(0).result, ReplayResult::not_run);
  EXPECT_EQ(replay_all(&prompt, KvType::int8).at(0).result, ReplayResult::not_run);
}

TEST_F(AuditedEngineTest, WhatTheLogCannotTakeIsCountedInIt) {
  open(AuditContents::kept, {.max_waiting = 4, .batch_ms = 60'000});
  for (int i = 0; i < 9; ++i) ask("Hello", {.max_tokens = 2});
  ASSERT_TRUE(log_->flush().ok());
  EXPECT_EQ(log_->stats().n_lost, 5);
  ask("Hello", {.max_tokens = 2});
  ASSERT_TRUE(log_->flush().ok());
  const AuditVerdict verdict = verdict_of(folder_.path());
  EXPECT_TRUE(verdict.faults.empty());
  EXPECT_EQ(verdict.n_lost, 5);
  EXPECT_EQ(verdict.n_entries, 5 + 1);
}

}  // namespace
}  // namespace ruv::audited_engine_test
