// Log-probabilities of prompts through the whole engine, against those of one step that computes
// the whole prompt.
#include "engine/prompt_scores.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cache/page_list.h"
#include "device/batch_builder.h"
#include "engine/executor.h"
#include "engine/sample/sampler.h"
#include "ruv/stream.h"

namespace ruv {
namespace {

class PromptScoresTest : public testing::Test {
 protected:
  static std::shared_ptr<const Model> load(const std::string& name) {
    return load_model(RUV_SOURCE_DIR "/tests/golden/models/" + name + "/model.gguf").value();
  }
  static std::shared_ptr<const Model> load_nano() {
    return load_model(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf").value();
  }
  static std::unique_ptr<Engine> engine(const std::shared_ptr<const Model>& model,
                                        EngineOptions options = {}) {
    options.n_threads = 2;
    options.kv.type = KvType::f16;
    return std::move(*Engine::create(model, options));
  }
  static std::vector<Token> prompt(int64_t n, Token from = 3) {
    std::vector<Token> ids;
    for (int64_t i = 0; i < n; ++i) {
      ids.push_back((from + static_cast<Token>(i * 7 + i * i / 5)) % 50);
    }
    return ids;
  }
  static Request request(std::vector<Token> ids, int32_t n_top, int64_t max_tokens = 4) {
    Request one;
    one.prompt = std::move(ids);
    one.params.temperature = 0;
    one.params.max_tokens = max_tokens;
    one.params.ignore_eos = true;
    one.params.n_prompt_logprobs = n_top;
    return one;
  }
  static Answer ask(Engine& engine, Request request) {
    return engine.stream(std::move(request)).value().collect().value();
  }
  // The logits after each token, computed in one step.
  static std::vector<std::vector<float>> logits(const Model& model, const std::vector<Token>& ids) {
    const int64_t n = std::ssize(ids);
    const auto executor =
        std::move(*Executor::create(model, {.n_threads = 1,
                                            .n_pages = pages_for(n),
                                            .frames = FrameLimits{.n_lists = 1, .n_rows = n},
                                            .max_rows = n,
                                            .max_outputs = n,
                                            .n_ctx = n}));
    std::vector<PageFrames> frames = frames_of(executor->pages());
    PagePool pool(pages_for(n), frames);
    PageList pages(pool);
    EXPECT_TRUE(pages.grow(n, executor->pages()));
    BatchBuilder batch;
    pages.begin_step(batch, {0, n});
    batch.add(ids);
    batch.want_logits(n);
    const HostRows rows = executor->run(batch.batch()).logits;
    std::vector<std::vector<float>> all;
    for (int64_t i = 0; i < n; ++i) {
      all.emplace_back(rows.row(i), rows.row(i) + model.n_usable_tokens());
    }
    return all;
  }
  static void expect_scores(const std::vector<Event::Logprobs>& scores,
                            const std::vector<std::vector<float>>& logits,
                            const std::vector<Token>& ids, int32_t n_top) {
    ASSERT_EQ(scores.size(), ids.size() - 1);
    for (size_t i = 0; i < scores.size(); ++i) {
      const Event::Logprobs expected = log_probabilities(logits[i], ids[i + 1], n_top);
      EXPECT_EQ(scores[i].chosen.id, ids[i + 1]);
      EXPECT_EQ(scores[i].chosen.logprob, expected.chosen.logprob) << "token " << i;
      EXPECT_EQ(scores[i].rank, expected.rank);
      ASSERT_EQ(std::ssize(scores[i].top), n_top);
      for (size_t k = 0; k < scores[i].top.size(); ++k) {
        EXPECT_EQ(scores[i].top[k].id, expected.top[k].id);
        EXPECT_EQ(scores[i].top[k].logprob, expected.top[k].logprob);
      }
    }
  }
};

TEST_F(PromptScoresTest, AreThoseOfOneStepWhateverTheChunks) {
  // The first is long enough for more rows of logits than a step gives.
  for (const auto& [model, n] : {std::pair(load_nano(), 150), std::pair(load("gemma3"), 55),
                                 std::pair(load("lfm2"), 55), std::pair(load("qwen3moe"), 55)}) {
    const std::vector<Token> ids = prompt(n);
    const auto expected = logits(*model, ids);
    for (const int64_t max_batch_tokens : {16, 200}) {
      const auto asked = engine(model, {.max_batch_tokens = max_batch_tokens});
      const Answer plain = ask(*asked, request(ids, -1));
      EXPECT_TRUE(plain.prompt_logprobs.empty());
      for (const int32_t n_top : {0, 3}) {
        const Answer answer = ask(*asked, request(ids, n_top));
        expect_scores(answer.prompt_logprobs, expected, ids, n_top);
        EXPECT_EQ(answer.ids, plain.ids);
        // The prompt was there already, but its logits were not.
        EXPECT_EQ(answer.timings.n_cached_tokens, 0);
      }
    }
  }
}

TEST_F(PromptScoresTest, AreOfASoftmax) {
  const auto model = load("llama2");
  const std::vector<Token> ids = prompt(9);
  const Answer answer = ask(*engine(model), request(ids, 20));
  const auto all = logits(*model, ids);
  for (size_t i = 0; i < answer.prompt_logprobs.size(); ++i) {
    double sum = 0;
    for (const float logit : all[i]) sum += std::exp(double{logit});
    const auto next = static_cast<size_t>(ids[i + 1]);
    EXPECT_NEAR(answer.prompt_logprobs[i].chosen.logprob, double{all[i][next]} - std::log(sum),
                1e-5);
  }
}

// Streams that draft, other scored prompts, and a cache too small for all of them.
TEST_F(PromptScoresTest, AreTheSameBesideOthers) {
  const auto model = load_nano();
  EngineOptions options{.n_ctx = 256, .max_sequences = 6, .max_batch_tokens = 40};
  options.kv.max_tokens = 512;
  options.kv.low_watermark = options.kv.high_watermark = 1;
  const auto asked = engine(model, options);
  std::vector<std::vector<Token>> prompts;
  std::vector<Stream> streams, others;
  for (int i = 0; i < 3; ++i) {
    const std::vector<Token> repeated(20, static_cast<Token>(5 + i));
    others.push_back(asked->stream(request(repeated, -1, 200)).value());
  }
  for (int i = 0; i < 5; ++i) {
    prompts.push_back(prompt(90 + 20 * i, static_cast<Token>(i)));
    streams.push_back(asked->stream(request(prompts.back(), 2, 40)).value());
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    const Answer answer = streams[i].collect().value();
    expect_scores(answer.prompt_logprobs, logits(*model, prompts[i]), prompts[i], 2);
    EXPECT_EQ(answer.ids, ask(*asked, request(prompts[i], -1, 40)).ids);
  }
  for (Stream& other : others) EXPECT_EQ(other.collect().value().ids.size(), 200U);
}

TEST_F(PromptScoresTest, ComeOnceInTheFirstEvent) {
  const auto asked = engine(load("llama2"));
  for (const int64_t n : {1, 2, 17}) {
    for (const int64_t max_tokens : {0, 1, 3}) {
      Stream stream = asked->stream(request(prompt(n), 1, max_tokens)).value();
      size_t n_events = 0;
      while (auto event = stream.next()) {
        EXPECT_EQ(event->prompt_logprobs.size(), n_events++ == 0 ? static_cast<size_t>(n - 1) : 0U);
      }
    }
  }
}

TEST_F(PromptScoresTest, AreRefusedByName) {
  const auto model = load("llama2");
  const auto asked = engine(model);
  const auto message = [&](Request request) {
    const auto id = asked->submit(std::move(request));
    return id ? std::string("accepted") : std::string(id.error().message());
  };
  EXPECT_NE(message(request(prompt(4), 21)).find("prompt_logprobs: 21"), std::string::npos);
  EXPECT_NE(message(request(prompt(4), -2)).find("prompt_logprobs: -2"), std::string::npos);
  Request heals = request(prompt(4), 0);
  heals.params.token_healing = true;
  EXPECT_NE(message(std::move(heals)).find("token_healing"), std::string::npos);
  const auto source = engine(load("t5"));
  const auto refused = source->submit(request(prompt(4), 0));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("prompt_logprobs"), std::string_view::npos);
}

}  // namespace
}  // namespace ruv
