// Memory runs out at each allocation in turn, once or for a while, on any of the engine's threads:
// every request ends, with its whole answer or with out_of_memory, all books agree, and the engine
// answers the next request right.
#include <condition_variable>
#include <deque>
#include <mutex>

#include "base/rng.h"
#include "cache/test_page_store.h"
#include "engine/engine_core.h"
#include "fault/allocations.h"
#include "fault/patience.h"
#include "sim/scripted_executor.h"

namespace ruv {
namespace {

constexpr int64_t kVocabulary = 12;
constexpr int64_t kMemoryPages = 8;
constexpr int64_t kMemoryCtx = 60;

// Hears answers without an allocation.
struct Hearing {
  std::vector<Token> expected;
  std::vector<Token> ids;
  FinishReason finish = FinishReason::none;
  Code code = Code::ok;

  Hearing(const Request& request, bool tiered) {
    expected = scripted_answer(request, kVocabulary, kMemoryCtx, tiered);
    ids.reserve(static_cast<size_t>(kMemoryCtx));
  }
  void hear(const Event& event) {
    ids.insert(ids.end(), event.ids.begin(), event.ids.end());
    finish = event.finish;
    code = event.status.code();
  }
  bool is_whole() const { return finish == FinishReason::length && ids == expected; }
  // Ended as it may where memory was out.
  bool is_clean() const {
    const bool begins_so =
        ids.size() <= expected.size() && std::equal(ids.begin(), ids.end(), expected.begin());
    return is_whole() ||
           (begins_so && finish == FinishReason::error && code == Code::out_of_memory);
  }
};

Request scripted_request(int64_t n_prompt, Token step, uint64_t seed) {
  Request request;
  for (int64_t i = 0; i < n_prompt; ++i) {
    request.prompt.push_back(static_cast<Token>((i * step + i / 7) % kVocabulary));
  }
  request.params.max_tokens = 20;
  request.params.temperature = seed % 2 == 0 ? 0 : 0.8;
  request.params.seed = seed;
  request.params.min_cache_tokens = 1;
  request.params.repetition_penalty = seed % 3 == 0 ? 1.1 : 1;
  return request;
}

// A core that has answered before, so that there are kept prefixes and too few pages.
struct SmallMemory {
  explicit SmallMemory(bool tiered) : is_tiered(tiered) {
    options.n_threads = 1;
    options.n_ctx = kMemoryCtx;
    options.max_sequences = 3;
    options.max_batch_tokens = 24;
    options.kv.max_tokens = kMemoryPages * kPageTokens;
    model.h.n_vocab = kVocabulary;
    EngineParts parts;
    parts.executor = std::make_unique<ScriptedExecutor>(kMemoryPages, kVocabulary, clock,
                                                        ScriptedLayers{.tiered = is_tiered},
                                                        FrameLimits{.n_kept = kMemoryPages});
    core = std::make_unique<EngineCore>(model, options, clock, std::move(parts));
    answer({scripted_request(37, 1, 4)});
  }

  // Steps until all have ended. Requires: nothing fails.
  void answer(const std::vector<Request>& requests) {
    std::deque<Hearing> hearings;
    for (const Request& request : requests) {
      Request copy = request;
      Hearing& hearing = hearings.emplace_back(request, is_tiered);
      copy.on_event = [&hearing](const Event& event) { hearing.hear(event); };
      core->add(core->make_sequence(++last_id, std::move(copy)));
    }
    run();
    for (const Hearing& hearing : hearings) EXPECT_TRUE(hearing.is_whole());
  }
  void run() {
    for (int i = 0; core->has_work() && i < 2000; ++i) core->step(never);
    EXPECT_FALSE(core->has_work());
  }
  // All pages are free or the tree's.
  void check() {
    EXPECT_TRUE(core->consistent());
    EXPECT_EQ(core->pages().n_free() + core->pages().n_evictable(), kMemoryPages);
    EXPECT_EQ(core->load().n_running + core->load().n_waiting, 0);
  }

  bool is_tiered;
  FakeClock clock;
  Model model;
  EngineOptions options;
  const StopFlag never{false};
  std::unique_ptr<EngineCore> core;
  RequestId last_id = 0;
};

struct MemoryCase {
  int n_in_a_row;  // so many allocations fail
  bool tiered;
};
class EngineMemory : public testing::TestWithParam<MemoryCase> {};

TEST_P(EngineMemory, EachAllocationOfAStepFails) {
  if (!allocations_can_fail) GTEST_SKIP() << "not under a sanitizer";
  const std::vector<Request> requests = {scripted_request(30, 1, 1), scripted_request(33, 1, 2),
                                         scripted_request(25, 5, 6), scripted_request(40, 7, 3)};
  int64_t n_ended = 0;
  int64_t n_harmless = 0;
  for (int64_t n = 1;; ++n) {
    ASSERT_LT(n, 20000) << "allocations without end";
    SCOPED_TRACE("allocation " + std::to_string(n));
    SmallMemory world(GetParam().tiered);
    std::deque<Hearing> hearings;
    std::vector<Request> mine = requests;
    for (size_t i = 0; i < mine.size(); ++i) {
      Hearing& hearing = hearings.emplace_back(requests[i], GetParam().tiered);
      mine[i].on_event = [&hearing](const Event& event) { hearing.hear(event); };
    }
    std::vector<std::unique_ptr<Sequence>> sequences;
    for (Request& request : mine) {
      sequences.push_back(world.core->make_sequence(++world.last_id, std::move(request)));
    }
    fail_allocations(n, GetParam().n_in_a_row);
    for (auto& sequence : sequences) world.core->add(std::move(sequence));
    world.run();
    const bool failed = let_allocations_succeed();
    world.check();
    int64_t n_whole = 0;
    for (const Hearing& hearing : hearings) {
      EXPECT_TRUE(hearing.is_clean())
          << finish_reason_name(hearing.finish) << " " << code_name(hearing.code);
      n_whole += hearing.is_whole();
    }
    world.answer(requests);
    world.check();
    if (HasFailure()) return;
    n_ended += std::ssize(hearings) - n_whole;
    n_harmless += n_whole == std::ssize(hearings);
    if (!failed) break;
    EXPECT_GE(n_whole, std::ssize(hearings) - GetParam().n_in_a_row) << "more ended than had to";
  }
  EXPECT_GT(n_ended, 10);
  if (GetParam().n_in_a_row > 1) return;
  EXPECT_GT(n_harmless, 10) << "what only saves work must end nobody";
}

INSTANTIATE_TEST_SUITE_P(InARow, EngineMemory,
                         testing::Values(MemoryCase{1, false}, MemoryCase{2, false},
                                         MemoryCase{50, false}, MemoryCase{1, true}));

// The real thing: submit, the engine's thread, the disk's thread.
class EngineThreadsMemory : public testing::Test {
 protected:
  struct Waiting {
    std::mutex mutex;
    std::condition_variable over;
    std::vector<Token> ids;
    FinishReason finish = FinishReason::none;
    Code code = Code::ok;
  };

  static Result<RequestId> submit(Engine& engine, const std::vector<Token>& prompt,
                                  Waiting& waiting) {
    Request request;
    request.prompt = prompt;
    request.params.max_tokens = 8;
    request.params.temperature = 0;
    request.params.ignore_eos = true;
    request.params.token_healing = true;
    request.on_event = [&waiting](const Event& event) {
      const std::lock_guard lock(waiting.mutex);
      for (const Token id : event.ids) waiting.ids.push_back(id);
      waiting.finish = event.finish;
      waiting.code = event.status.code();
      if (event.finish != FinishReason::none) waiting.over.notify_one();
    };
    return engine.submit(std::move(request));
  }
  static void wait(Waiting& waiting) {
    std::unique_lock lock(waiting.mutex);
    wait_patiently(waiting.over, lock, "an answer",
                   [&] { return waiting.finish != FinishReason::none; });
  }
  static std::vector<Token> answer(Engine& engine, const std::vector<Token>& prompt) {
    Waiting waiting;
    const Result<RequestId> id = submit(engine, prompt, waiting);
    EXPECT_TRUE(id.has_value()) << id.error().message();
    if (!id) return {};
    wait(waiting);
    EXPECT_EQ(waiting.finish, FinishReason::length);
    return waiting.ids;
  }
};

TEST_F(EngineThreadsMemory, EachAllocationFromSubmitToTheEndFails) {
  if (!allocations_can_fail) GTEST_SKIP() << "not under a sanitizer";
  const auto model = load_model(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf");
  ASSERT_TRUE(model.has_value()) << model.error().message();
  StoreFolder folder;
  EngineOptions options{.n_threads = 2, .n_ctx = 96, .max_sequences = 2};
  options.kv.max_tokens = 160;
  options.kv.disk_folder = folder.path();
  auto engine = Engine::create(*model, options);
  ASSERT_TRUE(engine.has_value()) << engine.error().message();
  Rng rng(3);
  const auto text = tokenize(**model, "One, two, three, four, five, six, seven. One, two, thr");
  ASSERT_TRUE(text.has_value());
  int64_t n_refused = 0;
  int64_t n_ended = 0;
  int64_t n_untouched = 0;
  for (int64_t n = 1; n_untouched < 20; ++n) {
    ASSERT_LT(n, 20000) << "allocations without end";
    SCOPED_TRACE("allocation " + std::to_string(n));
    std::vector<Token> prompt = *text;
    prompt[2] = static_cast<Token>(10 + rng.below(100));  // half new, half known
    Waiting waiting;
    waiting.ids.reserve(64);
    fail_allocations(n, 1 + n % 3);
    Result<RequestId> id = 0;
    bool asked = false;
    try {
      id = submit(**engine, prompt, waiting);
      asked = true;
    } catch (const std::bad_alloc&) {
      // While the request itself was put together, before the engine had it.
    }
    if (asked && id) wait(waiting);
    const bool failed = let_allocations_succeed();
    n_untouched = failed ? 0 : n_untouched + 1;
    if (asked && !id) {
      EXPECT_EQ(id.error().code(), Code::out_of_memory) << id.error().message();
      ++n_refused;
    }
    const std::vector<Token> expected = answer(**engine, prompt);
    if (asked && id) {
      const bool whole = waiting.finish == FinishReason::length;
      n_ended += !whole;
      EXPECT_TRUE(whole ? waiting.ids == expected : waiting.code == Code::out_of_memory);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(n_refused, 3);
  EXPECT_GT(n_ended, 3);
}

}  // namespace
}  // namespace ruv
