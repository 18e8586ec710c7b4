// Requests that are given up: 10,000 at random moments change no byte of the others' answers, and
// one in the middle of a long prompt's step ends that step.
#include <thread>

#include "base/rng.h"
#include "engine/batch_engine.h"
#include "fault/held_executor.h"
#include "property/asked_engine.h"
#include "sim/scripted_executor.h"

namespace ruv {
namespace {

constexpr int64_t kCancelVocabulary = 16;
constexpr int64_t kCancelCtx = 120;
constexpr int64_t kCancelPages = 20;

// One life of a core in which most requests are cancelled. Returns how many were.
int64_t live_and_cancel(uint64_t seed) {
  Rng rng(seed);
  FakeClock clock;
  Model model;
  model.h.n_vocab = kCancelVocabulary;
  EngineOptions options;
  options.n_ctx = kCancelCtx;
  options.max_sequences = 1 + static_cast<int64_t>(rng.below(5));
  options.max_batch_tokens = options.max_sequences + 1 + static_cast<int64_t>(rng.below(60));
  options.kv.max_tokens = kCancelPages * kPageTokens;
  EngineParts parts;
  parts.executor = std::make_unique<ScriptedExecutor>(kCancelPages, kCancelVocabulary, clock);
  auto& executor = static_cast<ScriptedExecutor&>(*parts.executor);
  EngineCore core(model, options, clock, std::move(parts));
  struct Life {
    std::vector<Token> expected;
    std::vector<Token> ids;
    FinishReason finish = FinishReason::none;
    bool cancelled = false;
  };
  constexpr size_t kLives = 8;
  std::vector<Life> lives(kLives);
  std::vector<Token> text;
  for (int i = 0; i < 50; ++i) text.push_back(static_cast<Token>(rng.below(kCancelVocabulary)));
  for (size_t i = 0; i < kLives; ++i) {
    Request request;
    request.prompt = text;
    request.prompt.resize(rng.below(text.size()));
    for (uint64_t n = 1 + rng.below(20); n > 0; --n) {
      request.prompt.push_back(static_cast<Token>(rng.below(kCancelVocabulary)));
    }
    request.params.max_tokens = 1 + static_cast<int64_t>(rng.below(30));
    request.params.temperature = rng.below(2) == 0 ? 0 : 0.8;
    request.params.seed = rng.below(100'000);
    lives[i].expected = scripted_answer(request, kCancelVocabulary, kCancelCtx);
    request.on_event = [&life = lives[i]](const Event& event) {
      EXPECT_EQ(life.finish, FinishReason::none) << "an event after the last one";
      life.ids.insert(life.ids.end(), event.ids.begin(), event.ids.end());
      life.finish = event.finish;
    };
    core.add(core.make_sequence(i + 1, std::move(request)));
  }
  const StopFlag never{false};
  int64_t n_cancelled = 0;
  for (int step = 0; core.has_work() && step < 5000; ++step) {
    if (rng.below(6) == 0) {
      const size_t i = rng.below(kLives - 2);  // the last two live
      if (!lives[i].cancelled && lives[i].finish == FinishReason::none) {
        lives[i].cancelled = true;
        ++n_cancelled;
        if (rng.below(2) == 0) {  // in the middle of a step, which then ends without having been
          executor.abort_next();
          core.step(never);
        }
        const RequestId id = i + 1;
        core.cancel(std::span(&id, 1));
        EXPECT_NE(lives[i].finish, FinishReason::none) << "a cancel ends within the step";
      }
    }
    core.step(never);
    EXPECT_TRUE(core.consistent());
  }
  for (const Life& life : lives) {
    if (life.cancelled && life.finish == FinishReason::cancelled) {
      EXPECT_LE(life.ids.size(), life.expected.size());
      EXPECT_TRUE(std::equal(life.ids.begin(), life.ids.end(), life.expected.begin()));
    } else {
      EXPECT_EQ(life.finish, FinishReason::length);
      EXPECT_EQ(life.ids, life.expected);
    }
  }
  EXPECT_EQ(core.pages().n_free() + core.pages().n_evictable(), kCancelPages);
  return n_cancelled;
}

TEST(EngineCancel, TenThousandChangeNoBytesOfOthers) {
  constexpr int64_t kCancels = 10'000;
  int64_t n_cancelled = 0;
  for (uint64_t seed = 0; n_cancelled < kCancels; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    n_cancelled += live_and_cancel(seed);
    if (testing::Test::HasFailure()) return;
    ASSERT_LT(seed, 20'000U);
  }
}

// On the real threads, where a cancel meets a step anywhere.
TEST(EngineCancel, FromAnotherThreadAtAnyMoment) {
  const auto model = load_model(RUV_SOURCE_DIR "/tests/golden/models/llama2/model.gguf");
  ASSERT_TRUE(model.has_value()) << model.error().message();
  const int64_t n_ctx = std::min<int64_t>(model_info(**model).n_ctx_train, 128);
  const auto plain = plain_engine(*model, n_ctx, default_kv_type(model_info(**model).head_dim));
  auto engine = Engine::create(*model, {.n_threads = 2, .n_ctx = n_ctx, .max_sequences = 4});
  ASSERT_TRUE(engine.has_value()) << engine.error().message();
  const auto n_vocab = static_cast<uint64_t>(model_info(**model).n_vocab);
  Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    AskedEngine all(**engine);
    std::vector<Asked> asked(6);
    for (Asked& one : asked) {
      for (uint64_t n = 1 + rng.below(60); n > 0; --n) {
        one.prompt.push_back(static_cast<Token>(rng.below(n_vocab)));
      }
      one.params.max_tokens = 20;
      one.params.ignore_eos = true;
      one.params.seed = rng.below(100'000);
      all.ask(one);
    }
    for (size_t i = 2; i < asked.size(); ++i) {
      if (rng.below(2) == 0) std::this_thread::yield();
      (*engine)->cancel(all.id(i));
    }
    const std::deque<Told>& told = all.wait();
    for (size_t i = 0; i < asked.size(); ++i) {
      if (i >= 2 && told[i].finish == FinishReason::cancelled) continue;
      ASSERT_TRUE(told[i].same_bytes(plainly(*plain, asked[i]))) << "round " << round;
    }
  }
}

// An engine whose first step can be met in the middle.
class LongPrompt : public testing::Test {
 protected:
  void SetUp() override {
    auto model = load_model(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf");
    ASSERT_TRUE(model.has_value()) << model.error().message();
    model_ = *model;
    options_ = {.n_threads = 1, .n_ctx = 1024, .max_sequences = 2, .max_batch_tokens = 1024};
    options_.kv.max_tokens = 2048;
    auto parts = make_parts(*model_, options_);
    ASSERT_TRUE(parts.has_value()) << parts.error().message();
    auto held = std::make_unique<HeldExecutor>(std::move(parts->executor));
    executor_ = held.get();
    parts->executor = std::move(held);
    engine_ = std::make_unique<BatchEngine>(model_, options_, std::move(*parts));
  }
  static Asked long_prompt(Token first, int64_t n) {
    Asked asked;
    for (int64_t i = 0; i < n; ++i) asked.prompt.push_back(first + static_cast<Token>(i % 300));
    asked.params.max_tokens = 4;
    asked.params.temperature = 0;
    asked.params.ignore_eos = true;
    return asked;
  }

  std::shared_ptr<const Model> model_;
  EngineOptions options_;
  HeldExecutor* executor_ = nullptr;  // the engine's
  std::unique_ptr<BatchEngine> engine_;
};

TEST_F(LongPrompt, ACancelEndsTheStepThatComputesIt) {
  AskedEngine all(*engine_);
  all.ask(long_prompt(10, 900));
  EXPECT_GT(executor_->wait_for_entry(), 100) << "a long step";
  engine_->cancel(all.id(0));
  const Told told = all.wait()[0];
  EXPECT_EQ(told.finish, FinishReason::cancelled);
  EXPECT_TRUE(told.ids.empty());
  EXPECT_TRUE(executor_->aborted()) << "the step went on to its end";
  EXPECT_EQ(engine_->load().n_steps, 0);
  EXPECT_EQ(engine_->kv_stats().cached_tokens, 0) << "something of it was computed";
}

TEST_F(LongPrompt, AnotherAnswerInThatStepHasItsBytes) {
  executor_->hold_steps_of(2);
  Asked stays = long_prompt(40, 500);
  stays.params.max_tokens = 60;
  AskedEngine all(*engine_);
  all.ask(stays);
  all.ask(long_prompt(10, 500));
  executor_->wait_for_entry();
  engine_->cancel(all.id(1));
  EXPECT_EQ(all.wait()[1].finish, FinishReason::cancelled);
  EXPECT_TRUE(executor_->aborted());
  const auto plain =
      plain_engine(model_, options_.n_ctx, default_kv_type(model_info(*model_).head_dim));
  EXPECT_TRUE(all.wait()[0].same_bytes(plainly(*plain, stays)));
}

TEST_F(LongPrompt, ACancelOfAnAnswerElsewhereStopsNoStep) {
  AskedEngine all(*engine_);
  all.ask(long_prompt(10, 900));
  executor_->wait_for_entry();
  engine_->cancel(12345);  // nobody's
  std::this_thread::yield();
  EXPECT_FALSE(executor_->aborted());
  engine_->cancel(all.id(0));
  EXPECT_EQ(all.wait()[0].finish, FinishReason::cancelled);
}

}  // namespace
}  // namespace ruv
