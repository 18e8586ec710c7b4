// Hidden states of prompts through the whole engine.
#include <gtest/gtest.h>

#include "cache/page_list.h"
#include "device/batch_builder.h"
#include "engine/executor.h"
#include "engine/hidden_pool.h"
#include "ruv/stream.h"

namespace ruv {
namespace {

class EmbedTest : public testing::Test {
 protected:
  static std::unique_ptr<Engine> engine(const std::shared_ptr<const Model>& model) {
    EngineOptions options{.n_threads = 2, .max_batch_tokens = 16};
    options.kv.type = KvType::f16;
    return std::move(*Engine::create(model, options));
  }
  static std::shared_ptr<const Model> load(const std::string& name) {
    return *load_model(RUV_SOURCE_DIR "/tests/golden/models/" + name + "/model.gguf");
  }
  static std::vector<Token> prompt(Token from, int64_t n) {
    std::vector<Token> ids;
    for (int64_t i = 0; i < n; ++i) ids.push_back((from + static_cast<Token>(i) * 7) % 50);
    return ids;
  }
  static Request request(std::vector<Token> ids) {
    Request one;
    one.prompt = std::move(ids);
    one.output = RequestOutput::hidden;
    return one;
  }
  // The last event.
  static Event ask(Engine& engine, Request request) {
    Stream stream = std::move(*engine.stream(std::move(request)));
    Event last;
    while (auto event = stream.next()) last = std::move(*event);
    return last;
  }
  // The states of all tokens, in one step of an executor.
  static std::vector<std::vector<float>> states(const Model& model, const std::vector<Token>& ids) {
    const int64_t n = std::ssize(ids);
    const auto executor =
        std::move(*Executor::create(model, {.n_threads = 1,
                                            .n_pages = pages_for(n),
                                            .frames = FrameLimits{.n_lists = 1, .n_rows = n},
                                            .max_rows = n,
                                            .max_outputs = 1,
                                            .n_ctx = n}));
    std::vector<PageFrames> frames = frames_of(executor->pages());
    PagePool pool(pages_for(n), frames);
    PageList pages(pool);
    EXPECT_TRUE(pages.grow(n, executor->pages()));
    BatchBuilder batch;
    pages.begin_step(batch, {0, n});
    batch.add(ids);
    batch.want_hidden(n);
    const HostRows hidden = executor->run(batch.batch()).hidden;
    std::vector<std::vector<float>> rows;
    for (int64_t i = 0; i < n; ++i) rows.emplace_back(hidden.row(i), hidden.row(i) + hidden.n_cols);
    return rows;
  }
  static std::vector<float> computed(const Model& model, const std::vector<Token>& ids) {
    return states(model, ids).back();
  }
  // Σ weight(i) · state i / Σ weight(i), in the order of the tokens.
  static std::vector<float> mean_of(const std::vector<std::vector<float>>& states, bool weighted) {
    std::vector<double> sum(states[0].size());
    double weights = 0;
    for (size_t t = 0; t < states.size(); ++t) {
      const double weight = weighted ? static_cast<double>(t + 1) : 1;
      weights += weight;
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += weight * double{states[t][i]};
    }
    std::vector<float> mean;
    for (const double x : sum) mean.push_back(static_cast<float>(x / weights));
    return mean;
  }
};

// In chunks, from a cached prefix and beside answers, on models with windows and states too.
TEST_F(EmbedTest, TheStateIsThatOfOneStepWhateverTheEngineDoes) {
  for (const char* name : {"llama2", "gemma3", "gpt2", "lfm2"}) {
    SCOPED_TRACE(name);
    const auto model = load(name);
    const std::vector<Token> ids = prompt(3, 45);
    const std::vector<float> expected = computed(*model, ids);
    const auto engine = EmbedTest::engine(model);
    Request endless;
    endless.prompt = prompt(1, 20);
    endless.params.max_tokens = 60;
    endless.params.ignore_eos = true;
    Stream beside = std::move(*engine->stream(endless));
    const Event first = ask(*engine, request(ids));
    EXPECT_EQ(first.hidden, expected);
    EXPECT_EQ(first.finish, FinishReason::stop);
    EXPECT_TRUE(first.ids.empty() && first.text.empty());
    EXPECT_EQ(first.timings.n_generated_tokens, 0);
    EXPECT_EQ(first.timings.n_cached_tokens, 0);
    const Event again = ask(*engine, request(ids));
    EXPECT_EQ(again.hidden, expected);
    EXPECT_GT(again.timings.n_cached_tokens, 0);
    EXPECT_EQ(ask(*engine, request({ids[0]})).hidden, computed(*model, {ids[0]}));
  }
}

// What was computed for a vector serves an answer, and the other way round.
TEST_F(EmbedTest, PrefixesAreSharedWithAnswers) {
  const auto model = load("llama2");
  const auto engine = EmbedTest::engine(model);
  const std::vector<Token> ids = prompt(5, 40);
  ask(*engine, request(ids));
  Request answer = request(ids);
  answer.output = RequestOutput::tokens;
  answer.params.max_tokens = 4;
  EXPECT_GE(ask(*engine, answer).timings.n_cached_tokens, 32);
}

// Chunks of 16 tokens beside an answer, on models with windows and states too.
TEST_F(EmbedTest, PoolingGivesTheBytesOfOneStepWhereverStepsCutTheText) {
  for (const char* name : {"llama2", "gemma3", "lfm2"}) {
    SCOPED_TRACE(name);
    const auto model = load(name);
    const std::vector<Token> ids = prompt(3, 45);
    const auto states = EmbedTest::states(*model, ids);
    std::vector<float> all;
    for (const auto& state : states) all.insert(all.end(), state.begin(), state.end());
    const auto engine = EmbedTest::engine(model);
    Request endless;
    endless.prompt = prompt(1, 20);
    endless.params.max_tokens = 60;
    endless.params.ignore_eos = true;
    Stream beside = std::move(*engine->stream(endless));
    for (int round = 0; round < 2; ++round) {
      const auto pooled = [&](Pooling pooling) {
        Request one = request(ids);
        one.pooling = pooling;
        const Event event = ask(*engine, std::move(one));
        EXPECT_EQ(event.timings.n_cached_tokens > 0, round > 0 && pooling == Pooling::last);
        return event.hidden;
      };
      EXPECT_EQ(pooled(Pooling::mean), mean_of(states, false));
      EXPECT_EQ(pooled(Pooling::weighted_mean), mean_of(states, true));
      EXPECT_EQ(pooled(Pooling::cls), states.front());
      EXPECT_EQ(pooled(Pooling::none), all);
      EXPECT_EQ(pooled(Pooling::last), states.back());
    }
  }
}

TEST(HiddenPool, StatesThatAreComputedAgainCountOnce) {
  float states[] = {1, 2, 3, 4};
  HiddenPool pool(Pooling::mean, 2, 2);
  EXPECT_EQ(pool.n_wanted({0, 2}), 2);
  pool.add({0, 1}, {states, 1, 2});
  pool.clear();
  pool.add({0, 2}, {states, 2, 2});
  EXPECT_EQ(pool.take(), (std::vector<float>{2, 3}));
}

TEST_F(EmbedTest, ATextMayFillTheContext) {
  const auto model = load("llama2");
  EngineOptions options{.n_threads = 1, .n_ctx = 20};
  const auto engine = std::move(*Engine::create(model, options));
  EXPECT_TRUE(engine->embed(prompt(3, 20)));
  const auto longer = engine->embed(prompt(3, 21));
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code(), Code::invalid);
  EXPECT_NE(longer.error().message().find("21 tokens do not fit"), std::string::npos);
}

// More texts than the engine lets wait.
TEST_F(EmbedTest, ManyTextsGetTheVectorsOfEachAlone) {
  const auto model = load("llama2");
  EngineOptions options{.n_threads = 2, .max_sequences = 4, .max_queue = 5};
  const auto engine = std::move(*Engine::create(model, options));
  std::vector<std::vector<Token>> texts;
  for (int64_t i = 0; i < 40; ++i) texts.push_back(prompt(static_cast<Token>(i), 1 + i % 17));
  const std::vector<Embedding> made = engine->embed_all(texts, {.pooling = Pooling::mean}).value();
  ASSERT_EQ(made.size(), texts.size());
  for (size_t i = 0; i < texts.size(); i += 13) {
    EXPECT_EQ(made[i].numbers, engine->embed(texts[i], {.pooling = Pooling::mean})->numbers);
    EXPECT_EQ(made[i].n_tokens, std::ssize(texts[i]));
    EXPECT_EQ(made[i].n_rows, 1);
  }
  texts[20].clear();
  EXPECT_EQ(engine->embed_all(texts).error().code(), Code::invalid);
  EXPECT_TRUE(engine->embed_all({})->empty());
}

TEST_F(EmbedTest, VectorsAreCutAndHaveLengthOne) {
  const auto model = load("llama2");
  const auto engine = EmbedTest::engine(model);
  const std::vector<Token> ids = prompt(3, 20);
  const std::vector<float> state = computed(*model, ids);
  const auto embedded = [&](const EmbedParams& params) {
    return engine->embed(ids, params)->numbers;
  };
  EXPECT_EQ(embedded({.normalise = false}), state);
  for (const size_t n : {state.size(), size_t{5}}) {
    const std::vector<float> vector = embedded({.dimensions = static_cast<int64_t>(n)});
    ASSERT_EQ(vector.size(), n);
    double squares = 0;
    for (const float x : vector) squares += double{x} * double{x};
    EXPECT_NEAR(squares, 1, 1e-6);
    EXPECT_NEAR(cosine_of(vector, std::span(state).first(n)), 1, 1e-6);  // the same direction
  }
  EXPECT_EQ(engine->embed(ids, {.pooling = Pooling::none, .normalise = false})->row(19).size(),
            state.size());
  EXPECT_EQ(engine->embed({}).error().code(), Code::invalid);
  const auto larger = engine->embed(ids, {.dimensions = 33});
  EXPECT_EQ(larger.error().message(),
            "dimensions: 33 is not from 1 to the 32 of the model's vectors");
  EXPECT_EQ(embed_info(*model)->pooling, Pooling::last);
  EXPECT_FALSE(embed_info(*model)->pooling_is_stated);
}

}  // namespace
}  // namespace ruv
