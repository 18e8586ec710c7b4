// Prompts with media through the whole engine: what is computed for their rows, what of them is
// shared, and what is kept apart. The media's embeddings are those of tokens, so that the right
// answer is known.
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/test_equal_steps.h"
#include "engine/test_media.h"
#include "property/asked_engine.h"

namespace ruv::engine_media_test {
namespace {

using Tokens = std::vector<Token>;

// In every place of a medium.
constexpr Token kPlaceholder = 5;

GenerateParams greedy(int64_t max_tokens) {
  GenerateParams params;
  params.temperature = 0;
  params.max_tokens = max_tokens;
  params.ignore_eos = true;
  params.n_logprobs = 3;
  params.seed = 1;
  return params;
}

Tokens random_tokens(uint64_t seed, int64_t n) {
  Rng rng(seed);
  Tokens tokens;
  for (int64_t i = 0; i < n; ++i) tokens.push_back(static_cast<Token>(6 + rng.below(60)));
  return tokens;
}

// A context of 64 tokens. gemma3 has windows and scales its embeddings, gpt2 adds positions.
class EngineMedia : public testing::TestWithParam<const char*> {
 protected:
  EngineMedia()
      : model_(load_model(RUV_SOURCE_DIR "/tests/golden/models/" + std::string(GetParam()) +
                          "/model.gguf")
                   .value()) {}

  std::unique_ptr<Engine> engine(const EngineOptions& options = {.n_threads = 1}) const {
    return std::move(*Engine::create(model_, options));
  }
  // Replaces tokens of the prompt, from `begin` on, by a medium that looks like `ids`.
  void put(Asked& asked, const Tokens& ids, int64_t begin, bool whole = false,
           MediaKind kind = MediaKind::text) const {
    asked.model = model_.get();
    asked.media.push_back(media_like(*model_, ids, begin, kind));
    asked.media.back().whole = whole;
    std::fill_n(asked.prompt.begin() + begin, ids.size(), kPlaceholder);
  }
  // 45 tokens with media in [6, 17) and, if there is a second one, in [17, 30).
  Asked described(const Tokens& first, const Tokens& second, bool whole = false) const {
    Asked asked = {text_, greedy(12), {}, {}};
    put(asked, first, 6, whole);
    if (!second.empty()) put(asked, second, 17, whole);
    return asked;
  }
  static Told tell(Engine& engine, const Asked& asked) {
    AskedEngine one(engine);
    one.ask(asked);
    return one.wait()[0];
  }
  static Told without_cache(Asked asked, Engine& engine) {
    asked.params.cache_prefix = false;
    return tell(engine, asked);
  }

  // The 12 likeliest tokens after the rows that `add_prompt` adds to a batch.
  template <class AddPrompt>
  Tokens computed(const AddPrompt& add_prompt) const {
    const auto executor = std::move(*Executor::create(
        *model_, {.n_threads = 1, .n_pages = 4, .max_rows = 64, .max_outputs = 1, .n_ctx = 64}));
    const std::vector<PageId> pages = {0, 1, 2, 3};
    Tokens answer;
    while (answer.size() < 12) {
      for (const PageId page : pages) executor->pages().clear(page);
      BatchBuilder batch;
      batch.begin_sequence(0, pages);
      add_prompt(batch);
      batch.add(answer);
      batch.want_logits();
      const HostRows logits = executor->run(batch.batch()).logits;
      answer.push_back(argmax({logits.row(0), static_cast<size_t>(logits.n_cols)}));
    }
    return answer;
  }

  std::shared_ptr<const Model> model_;
  const Tokens text_ = random_tokens(1, 45);
  const Tokens cat_ = random_tokens(2, 11);
  const Tokens dog_ = random_tokens(3, 11);
  const Tokens sea_ = random_tokens(4, 13);
};

INSTANTIATE_TEST_SUITE_P(Models, EngineMedia, testing::Values("llama2", "gemma3", "gpt2"),
                         [](const auto& test) { return std::string(test.param); });

// However steps cut the prompt.
TEST_P(EngineMedia, EmbeddingsOfTokensGiveTheAnswerOfTheTokens) {
  Asked text = {text_, greedy(12), {}, {}};
  std::ranges::copy(cat_, text.prompt.begin() + 6);
  std::ranges::copy(sea_, text.prompt.begin() + 17);
  for (const int64_t max_batch_tokens : {5, 24, 512}) {
    const auto engine = EngineMedia::engine(
        {.n_threads = 1, .max_sequences = 4, .max_batch_tokens = max_batch_tokens});
    const Told expected = tell(*engine, text);
    EXPECT_TRUE(tell(*engine, described(cat_, sea_)).same_bytes(expected)) << max_batch_tokens;
    EXPECT_FALSE(tell(*engine, described(dog_, sea_)).same_bytes(expected));
  }
}

// Computed without an engine. Whatever part of the prompt is cached or in the step.
TEST_P(EngineMedia, RowsOfAWholeMediumSeeEachOther) {
  const auto expected = computed([&](BatchBuilder& batch) {
    batch.add(std::span(text_).first(6));
    batch.add(cat_);
    batch.see_each_other(11);
    batch.add(sea_);
    batch.see_each_other(13);
    batch.add(std::span(text_).subspan(30));
  });
  for (const int64_t max_batch_tokens : {18, 24, 512}) {
    const auto engine = EngineMedia::engine({.n_threads = 1,
                                             .max_sequences = 4,
                                             .max_batch_tokens = max_batch_tokens,
                                             .kv = {.type = KvType::f16}});
    EXPECT_EQ(tell(*engine, described(cat_, sea_, true)).ids, expected);
    EXPECT_EQ(tell(*engine, described(cat_, sea_, true)).ids, expected);
    const Told causal = without_cache(described(cat_, sea_), *engine);
    EXPECT_FALSE(causal.same_bytes(without_cache(described(cat_, sea_, true), *engine)));
  }
}

TEST_P(EngineMedia, PlaceholdersDecideNothing) {
  Asked asked = described(cat_, sea_);
  asked.params.repetition_penalty = 3;
  asked.params.cache_prefix = false;
  const auto engine = EngineMedia::engine();
  const Told expected = tell(*engine, asked);
  for (const Token other : expected.ids) {
    std::fill_n(asked.prompt.begin() + 6, 11, other);
    EXPECT_TRUE(tell(*engine, asked).same_bytes(expected));
  }
}

// Its rows have one position on the first axis, so the text moves up; computed without an engine.
TEST_P(EngineMedia, TextAfterAnImageContinuesItsPositions) {
  Asked asked = {text_, greedy(12), {}, {}};
  put(asked, cat_, 6, false, MediaKind::image);
  put(asked, sea_, 20, false, MediaKind::image);
  const auto image = [&](const Tokens& ids, int32_t first, BatchBuilder& batch) {
    const MediaSpan span = media_like(*model_, ids, 0, MediaKind::image);
    std::vector<Position> positions = span.positions;
    for (Position& at : positions) {
      for (int32_t& axis : at) axis += first;
    }
    batch.add_embeddings({span.embeddings.start, std::ssize(ids), model_->h.n_embd}, positions);
    return span;
  };
  std::vector<MediaSpan> shown;  // until the step is over
  const Tokens answer = computed([&](BatchBuilder& batch) {
    batch.add(std::span(text_).first(6));
    shown.push_back(image(cat_, 6, batch));  // 11 rows, up to 3 on the largest axis
    batch.set_position(10);
    batch.add(std::span(text_).subspan(17, 3));
    shown.push_back(image(sea_, 13, batch));  // 13 rows, up to 3
    batch.set_position(17);
    batch.add(std::span(text_).subspan(33));
  });
  EXPECT_EQ(tell(*engine({.n_threads = 1, .kv = {.type = KvType::f16}}), asked).ids, answer);
}

TEST_P(EngineMedia, EqualMediaSharePagesAndOthersDoNot) {
  const auto engine = EngineMedia::engine();
  const Asked cat = described(cat_, sea_);
  const Asked dog = described(dog_, sea_);
  const Told first = tell(*engine, cat);
  EXPECT_EQ(first.timings.n_cached_tokens, 0);
  const Told other = tell(*engine, dog);
  EXPECT_LE(other.timings.n_cached_tokens, 6);
  EXPECT_TRUE(other.same_bytes(without_cache(dog, *engine)));
  EXPECT_FALSE(other.same_bytes(first));
  for (const Asked& asked : {cat, dog}) {
    const Told again = tell(*engine, asked);
    EXPECT_EQ(again.timings.n_cached_tokens, 44);
    EXPECT_TRUE(again.same_bytes(without_cache(asked, *engine)));
  }
  // The placeholders alone are a text like any other.
  Asked text = cat;
  text.media.clear();
  EXPECT_LE(tell(*engine, text).timings.n_cached_tokens, 6);
  // A prompt that another medium continues.
  const Told sun = tell(*engine, described(cat_, random_tokens(9, 13)));
  EXPECT_LE(sun.timings.n_cached_tokens, 17);
}

// Where a span must stay whole, a prefix that ends inside it is cut back to its first row.
TEST_P(EngineMedia, APrefixEndsAtTheEdgeOfASpanThatStaysWhole) {
  for (const bool whole : {false, true}) {
    const auto engine = EngineMedia::engine({.n_threads = 1, .max_batch_tokens = 24});
    Asked asked = described(cat_, sea_, whole);
    asked.prompt.resize(30);  // ends with the second medium, whose last row gives the logits
    const Told first = tell(*engine, asked);
    const Told again = tell(*engine, asked);
    EXPECT_TRUE(again.same_bytes(first));
    const bool has_windows = std::string_view(GetParam()) == "gemma3";
    if (!has_windows) {
      EXPECT_EQ(again.timings.n_cached_tokens, whole ? 17 : 29);
    }
    EXPECT_TRUE(!whole || again.timings.n_cached_tokens <= 17);
    EXPECT_TRUE(again.same_bytes(without_cache(asked, *engine)));
  }
}

TEST_P(EngineMedia, WhatNoStepCanComputeIsRefused) {
  const auto engine = EngineMedia::engine({.n_threads = 1, .max_batch_tokens = 20});
  const auto submit = [&](const Asked& asked, const Model* model = nullptr) {
    Request request = {.prompt = asked.prompt};
    request.media =
        std::make_shared<LoadedMedia>(model != nullptr ? model : asked.model, asked.media);
    return engine->submit(std::move(request));
  };
  const auto other = load_model(RUV_SOURCE_DIR "/tests/golden/models/qwen3/model.gguf").value();
  EXPECT_EQ(submit(described(cat_, sea_), other.get()).error().message(),
            "media: made for another model");
  EXPECT_TRUE(submit(described(cat_, sea_, false)).has_value());
  const auto refused = submit(described(cat_, sea_, true));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Code::invalid);
  EXPECT_EQ(refused.error().message(),
            "medium at 17: 13 rows must be computed in one step, which has room for 12; raise "
            "max_batch_tokens");
}

TEST_P(EngineMedia, PagesOnDiskAreKnownByTheMedia) {
  const std::string folder = testing::TempDir() + "engine_media_" + GetParam() +
                             std::to_string(testing::UnitTest::GetInstance()->random_seed());
  std::filesystem::remove_all(folder);
  EngineOptions options = {.n_threads = 1};
  options.kv.disk_folder = folder;
  const Told first = tell(*engine(options), described(cat_, sea_));
  {
    const auto engine = EngineMedia::engine(options);
    EXPECT_EQ(tell(*engine, described(dog_, sea_)).timings.n_cached_tokens, 0);
    const Told again = tell(*engine, described(cat_, sea_));
    EXPECT_EQ(again.timings.n_cached_tokens, 32);
    EXPECT_TRUE(again.same_bytes(first));
  }
  // The first page ends inside the first medium.
  for (const bool whole : {false, true}) {
    Asked asked = described(cat_, {}, whole);
    asked.prompt.resize(20);
    EXPECT_EQ(tell(*engine(options), asked).timings.n_cached_tokens, whole ? 0 : 16);
  }
  std::filesystem::remove_all(folder);
}

TEST_P(EngineMedia, DraftsReachOverNoMediumAndChangeNothing) {
  Asked asked = {{}, greedy(16), {}, {}};
  for (const Token token : {20, 21, 22, 23}) {
    for (int i = 0; i < 5; ++i) asked.prompt.push_back(token + i % 2);
  }
  for (int i = 0; i < 20; ++i) asked.prompt.push_back(20 + i % 4);
  put(asked, cat_, 4);
  Asked plain = asked;
  plain.params.speculative = false;
  const auto engine = equal_steps_engine(model_, {.n_threads = 1});
  const Told expected = tell(*engine, plain);
  EXPECT_EQ(expected.timings.n_drafted_tokens, 0);
  int64_t n_drafted = 0;
  for (int i = 0; i < 3; ++i) {
    const Told told = tell(*engine, asked);
    EXPECT_TRUE(told.same_bytes(expected));
    n_drafted += told.timings.n_drafted_tokens;
  }
  EXPECT_GT(n_drafted, 0);
}

// A medium is no text whose end could be tokenized in another way.
TEST(EngineMediaHealing, AMediumAtTheEndOfAPromptIsNotTakenBack) {
  const auto model = load_model(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf").value();
  const auto engine = std::move(*Engine::create(model, {.n_threads = 1, .n_ctx = 64}));
  const auto ask = [&](bool has_media, bool healing) {
    Asked asked = {tokenize(*model, "Once upon a ti").value(), greedy(8), {}, {}};
    asked.params.token_healing = healing;
    const int64_t last = std::ssize(asked.prompt) - 1;
    if (has_media) asked.media = {media_like(*model, {asked.prompt.back()}, last)};
    asked.model = model.get();
    AskedEngine one(*engine);
    one.ask(asked);
    return one.wait()[0];
  };
  EXPECT_FALSE(ask(false, true).same_bytes(ask(false, false)));
  EXPECT_TRUE(ask(true, true).same_bytes(ask(true, false)));
}

// Steps by hand, so that requests meet.
class MediaCore {
 public:
  MediaCore(const std::shared_ptr<const Model>& model, EngineOptions options)
      : options_(complete_options(std::move(options), *model).value()),
        core_(*model, options_, clock_, std::move(*make_parts(*model, options_))) {}

  const Tokens& add(const Asked& asked) {
    Tokens& told = told_.emplace_back();
    Request request = {.prompt = asked.prompt, .params = asked.params};
    request.on_event = [this, &told](const Event& event) {
      told.insert(told.end(), event.ids.begin(), event.ids.end());
      if (event.finish != FinishReason::none) n_cached_ += event.timings.n_cached_tokens;
    };
    request.media = std::make_shared<LoadedMedia>(asked.model, asked.media);
    core_.add(core_.make_sequence(told_.size(), std::move(request)));
    return told;
  }
  void run() {
    while (core_.has_work()) core_.step(never_);
    EXPECT_TRUE(core_.consistent());
  }
  void step() { core_.step(never_); }
  EngineCore& core() { return core_; }
  int64_t n_cached() const { return n_cached_; }

 private:
  EngineOptions options_;
  StepClock clock_;
  EngineCore core_;
  std::deque<Tokens> told_;
  int64_t n_cached_ = 0;
  const StopFlag never_{false};
};

TEST_P(EngineMedia, APreemptedRequestIsComputedAgainWithItsMedia) {
  const auto plain = EngineMedia::engine();
  Asked asked[2] = {{text_, greedy(30), {}, {}}, {text_, greedy(30), {}, {}}};
  for (Asked& one : asked) one.prompt.resize(15);
  put(asked[0], cat_, 2);
  put(asked[1], dog_, 2, true);
  EngineOptions options = {.n_threads = 1, .max_sequences = 2};
  options.kv.max_tokens = 64;
  MediaCore core(model_, options);
  const Tokens* told[2];
  for (size_t i = 0; i < 2; ++i) told[i] = &core.add(asked[i]);
  core.run();
  EXPECT_GT(core.core().kv_stats().preemptions, 0);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(*told[i], without_cache(asked[i], *plain).ids);
}

// Only who would really share it waits for another request's prefix.
TEST_P(EngineMedia, OnlyEqualMediaAreWorthWaitingFor) {
  for (const bool equal : {false, true}) {
    MediaCore core(model_, {.n_threads = 1});
    core.add(described(cat_, sea_));
    core.add(described(equal ? cat_ : dog_, sea_));
    core.step();
    EXPECT_EQ(core.core().load().n_running, equal ? 1 : 2);
    core.run();
    EXPECT_EQ(core.n_cached() > 17, equal);
  }
}

}  // namespace
}  // namespace ruv::engine_media_test
