// Answers to source texts through the whole engine: an encoder computes each source whole, what is
// kept of it serves equal sources only, and nothing that the engine does changes an answer's bytes.
#include <gtest/gtest.h>

#include <numeric>

#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "cache/test_page_store.h"
#include "engine/test_equal_steps.h"
#include "model/model.h"
#include "property/asked_engine.h"
#include "ruv/logits.h"
#include "ruv/stream.h"

namespace ruv::source_engine_test {
namespace {

using Tokens = std::vector<Token>;

constexpr Token kStart = 3;
const std::string kModels = RUV_SOURCE_DIR "/tests/golden/models/";
const std::string kFolder = kModels + "t5";
// The sides of the second one have other heads, and slots of their own.
const std::string kAnswering[] = {kFolder + "/model.gguf", kModels + "t5gemma/model.gguf"};

std::shared_ptr<const Model> load_answering() { return *load_model(kAnswering[0]); }

Tokens random_tokens(Rng& rng, int64_t n, uint64_t n_different) {
  Tokens ids;
  for (int64_t i = 0; i < n; ++i) ids.push_back(static_cast<Token>(4 + rng.below(n_different)));
  return ids;
}

Asked asked_for(Tokens source, int64_t max_tokens) {
  Asked asked{.prompt = std::move(source), .params = {}};
  asked.params.max_tokens = max_tokens;
  asked.params.temperature = 0;
  asked.params.ignore_eos = true;
  asked.params.n_logprobs = 2;
  return asked;
}

Told told_by(Engine& engine, const Asked& asked) {
  AskedEngine one(engine);
  one.ask(asked);
  return one.wait()[0];
}

TEST(Source, TheAnswerIsTheReferences) {
  for (const std::string path : {"t5", "t5/model.gguf", "t5gemma", "t5gemma/model.gguf"}) {
    SCOPED_TRACE(path);
    const std::string folder = kModels + path.substr(0, path.find('/'));
    const Json golden = *parse_json(*read_text_file(folder + "/golden.json"), "golden.json");
    const auto source = golden.at("source").get<Tokens>();
    const auto greedy = golden.at("greedy").get<Tokens>();
    const auto model = *load_model(kModels + path);
    const auto engine = *Engine::create(model, {.n_threads = 2, .max_sequences = 2});
    const Told told = told_by(*engine, asked_for(source, std::ssize(greedy)));
    EXPECT_EQ(told.ids, greedy);
    EXPECT_EQ(told.timings.n_prompt_tokens, std::ssize(source));
    EXPECT_EQ(told.timings.n_generated_tokens, std::ssize(greedy));
  }
}

// What has happened, so that a test which no longer reaches what it is for fails.
struct Seen {
  int64_t reused = 0, drafted = 0, accepted = 0, preempted = 0, restored = 0;
};

// Sources that are equal, begin alike, or are the beginning of another and its answer.
class SourceWorld {
 public:
  SourceWorld(const std::shared_ptr<const Model>& model, Engine& plain, uint64_t seed)
      : model_(model), plain_(plain), rng_(seed) {
    texts_.push_back(random_tokens(rng_, 40, rng_.below(2) == 0 ? 5 : 50));
    texts_.push_back(random_tokens(rng_, 40, 50));
  }

  void live(Seen& seen) {
    EngineOptions options;
    options.n_ctx = kCtx;
    options.n_threads = 1 + static_cast<int>(rng_.below(3));
    options.max_sequences = 1 + static_cast<int64_t>(rng_.below(4));
    options.max_batch_tokens = 70 + static_cast<int64_t>(rng_.below(40));
    options.kv.max_tokens = kCtx + static_cast<int64_t>(rng_.below(rng_.below(2) == 0 ? 16 : 120));
    const bool has_disk = rng_.below(3) == 0;
    if (has_disk) options.kv.disk_folder = folder_.path();
    for (int life = 0; life < (has_disk ? 3 : 1); ++life) {
      const auto engine = equal_steps_engine(model_, options);
      for (int round = 0; round < 3; ++round) ask_some(*engine, seen);
      seen.preempted += engine->kv_stats().preemptions;
      seen.restored += engine->kv_stats().restored_pages;
    }
  }
  static constexpr int64_t kCtx = 128;

 private:
  Asked random_request() {
    Tokens source = texts_[rng_.below(texts_.size())];
    if (rng_.below(3) == 0) source.resize(1 + rng_.below(source.size()));
    Asked asked = asked_for(std::move(source), 1 + static_cast<int64_t>(rng_.below(60)));
    asked.params.temperature = rng_.below(2) == 0 ? 0.0 : 0.8;
    asked.params.repetition_penalty = rng_.below(3) == 0 ? 1.3 : 1.0;
    asked.params.seed = rng_.below(1000);
    return asked;
  }

  void ask_some(Engine& engine, Seen& seen) {
    std::vector<Asked> requests;
    AskedEngine together(engine);
    for (uint64_t i = 0, n = 1 + rng_.below(7); i < n; ++i) requests.push_back(random_request());
    for (const Asked& asked : requests) together.ask(asked);
    const std::deque<Told>& told = together.wait();
    for (size_t i = 0; i < requests.size(); ++i) {
      ASSERT_TRUE(told[i].same_bytes(plainly(plain_, requests[i]))) << "request " << i;
      EXPECT_TRUE(told[i].timings.n_cached_tokens == 0 ||
                  told[i].timings.n_cached_tokens >= std::ssize(requests[i].prompt));
      seen.reused += told[i].timings.n_cached_tokens > 0;
      seen.drafted += told[i].timings.n_drafted_tokens;
      seen.accepted += told[i].timings.n_accepted_tokens;
    }
    // The next sources may be a whole text of before, its answer and what is between included.
    Tokens whole = requests[0].prompt;
    whole.push_back(kStart);
    whole.insert(whole.end(), told[0].ids.begin(), told[0].ids.end());
    whole.resize(std::min<size_t>(whole.size(), 60));
    texts_.push_back(std::move(whole));
  }

  std::shared_ptr<const Model> model_;
  Engine& plain_;
  Rng rng_;
  std::vector<Tokens> texts_;
  StoreFolder folder_;
};

class SourceLives : public testing::TestWithParam<std::string> {};

TEST_P(SourceLives, NothingTheEngineDoesChangesTheBytes) {
  const auto model = *load_model(GetParam());
  const auto plain = plain_engine(model, SourceWorld::kCtx, KvType::f16);
  Seen seen;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    SourceWorld(model, *plain, seed).live(seen);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(seen.reused, 20);
  EXPECT_GT(seen.drafted, seen.accepted);
  EXPECT_GT(seen.accepted, 20);
  EXPECT_GT(seen.preempted, 5);
  EXPECT_GT(seen.restored, 0);
}

// The tokens of a source, the start token and an answer are the source of another request: their
// places hold other keys and values, whichever comes first.
TEST_P(SourceLives, AnAnswerIsNoPartOfASource) {
  const auto model = *load_model(GetParam());
  const auto plain = plain_engine(model, 128, KvType::f16);
  Tokens source(23);
  std::iota(source.begin(), source.end(), 5);
  const Asked first = asked_for(source, 40);
  const Told answer = plainly(*plain, first);
  Tokens longer = source;
  longer.push_back(kStart);
  longer.insert(longer.end(), answer.ids.begin(), answer.ids.end());
  const Asked second = asked_for(longer, 40);
  const Told other = plainly(*plain, second);
  for (const bool swapped : {false, true}) {
    const auto engine = *Engine::create(model, {.n_threads = 1, .n_ctx = 128, .max_sequences = 2});
    const Told one = told_by(*engine, swapped ? second : first);
    const Told two = told_by(*engine, swapped ? first : second);
    EXPECT_TRUE((swapped ? two : one).same_bytes(answer));
    EXPECT_TRUE((swapped ? one : two).same_bytes(other));
    EXPECT_EQ(two.timings.n_cached_tokens, 0);
    const Told again = told_by(*engine, first);
    EXPECT_TRUE(again.same_bytes(answer));
    EXPECT_EQ(again.timings.n_cached_tokens, std::ssize(source));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SourceLives, testing::ValuesIn(kAnswering));

TEST(Source, WhatTheModelCannotDoIsRefused) {
  const auto model = load_answering();
  const auto engine =
      *Engine::create(model, {.n_threads = 1, .max_sequences = 4, .max_batch_tokens = 20});
  EXPECT_EQ(engine->n_ctx(), 128);
  EXPECT_EQ(told_by(*engine, asked_for(Tokens(20, 5), 1)).finish, FinishReason::length);
  const auto too_long = engine->submit({.prompt = Tokens(21, 5)});
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().message(),
            "prompt: 21 tokens; an encoder computes a text in one step, which has room for 20: "
            "raise max_batch_tokens");
  Request healed{.prompt = {5, 6}};
  healed.params.token_healing = true;
  EXPECT_EQ(engine->submit(healed).error().code(), Code::unsupported);
  Request shifting{.prompt = {5, 6}};
  shifting.params.context_shift = true;
  const auto shifted = engine->submit(shifting);
  ASSERT_FALSE(shifted);
  EXPECT_EQ(shifted.error().message(), "context_shift: not with a model that reads a source text");
  const auto embedded = engine->embed({5, 6});
  ASSERT_FALSE(embedded);
  EXPECT_EQ(embedded.error().code(), Code::unsupported);
  EXPECT_NE(embedded.error().message().find("answers a source text"), std::string::npos);
  EXPECT_FALSE(Engine::create(model, {.draft_model = model}));
  const auto ignore = [](int64_t, auto) {};
  for (const int64_t n_source : {0, 4}) {
    LogitsOptions options;
    options.n_source = n_source;
    EXPECT_EQ(compute_logits(*model, Tokens{5, 6, 3, 7}, options, ignore).code(), Code::invalid);
  }
  LogitsOptions with_source;
  with_source.n_source = 2;
  EXPECT_EQ(compute_hidden(*model, Tokens{5, 6, 3}, with_source, ignore).code(), Code::unsupported);
  const auto decoder = *load_model(RUV_SOURCE_DIR "/tests/golden/models/llama2/model.gguf");
  EXPECT_EQ(compute_logits(*decoder, Tokens{5, 6, 3}, with_source, ignore).code(),
            Code::unsupported);
}

}  // namespace
}  // namespace ruv::source_engine_test
