// Hidden states of prompts through the whole engine.
#include <gtest/gtest.h>

#include <cmath>

#include "cache/page_list.h"
#include "device/batch_builder.h"
#include "engine/executor.h"
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
  // The whole prompt in one step of an executor.
  static std::vector<float> computed(const Model& model, const std::vector<Token>& ids) {
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
    batch.want_hidden();
    const HostRows hidden = executor->run(batch.batch()).hidden;
    return {hidden.row(0), hidden.row(0) + hidden.n_cols};
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

TEST_F(EmbedTest, VectorsHaveLengthOne) {
  const auto model = load("llama2");
  const auto engine = EmbedTest::engine(model);
  const std::vector<Token> ids = prompt(3, 20);
  const std::vector<float> vector = engine->embed(ids).value();
  const std::vector<float> state = computed(*model, ids);
  ASSERT_EQ(vector.size(), state.size());
  double squares = 0, product = 0, state_squares = 0;
  for (size_t i = 0; i < vector.size(); ++i) {
    squares += double{vector[i]} * double{vector[i]};
    product += double{vector[i]} * double{state[i]};
    state_squares += double{state[i]} * double{state[i]};
  }
  EXPECT_NEAR(squares, 1, 1e-6);
  EXPECT_NEAR(product / std::sqrt(state_squares), 1, 1e-6);  // the same direction
  EXPECT_EQ(engine->embed({}).error().code(), Code::invalid);
}

}  // namespace
}  // namespace ruv
