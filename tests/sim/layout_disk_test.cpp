// Lives of engines with a folder for pages, of every layout there is: windows of two shapes,
// running states, tiers, and all of them. What is read back, or lacks a part, changes no answer.
#include <gtest/gtest.h>

#include <deque>
#include <filesystem>

#include "base/rng.h"
#include "cache/test_page_store.h"
#include "engine/engine_core.h"
#include "sim/scripted_executor.h"

namespace ruv {
namespace {

constexpr int64_t kVocab = 24;
constexpr int64_t kPages = 100;
constexpr int64_t kCtx = 900;

struct LayoutCase {
  const char* name;
  ScriptedLayers layers;
  // Whether a record is likely to have all that a sequence resumes at: with tiers and states both a
  // checkpoint and the end of a group, which hardly ever meet.
  bool resumes = true;
  int64_t n_kept = 30;  // frames of each window for cached prefixes
};

class LayoutDisk : public testing::TestWithParam<LayoutCase> {
 protected:
  LayoutDisk() {
    options_.n_ctx = kCtx;
    options_.max_sequences = 3;
    options_.max_batch_tokens = 64;
    options_.kv.max_tokens = kPages * kPageTokens;
    options_.kv.disk_folder = folder_.path();
    options_.kv.disk_max_bytes = int64_t{1} << 26;
    model_.h.n_vocab = kVocab;
  }

  std::unique_ptr<EngineCore> new_core() {
    FrameLimits limits = EngineCore::frames_for_steps(options_);
    limits.n_kept = GetParam().n_kept;
    limits.n_checkpoints = 8;
    EngineParts parts;
    parts.executor =
        std::make_unique<ScriptedExecutor>(kPages, kVocab, clock_, GetParam().layers, limits);
    const KvPages& pages = parts.executor->pages();
    page_bytes_ = pages.saved_bytes();
    state_bytes_ = pages.saved_state_bytes();
    const uint64_t hash[2] = {1, 2};
    auto store = open_page_store(options_.kv, hash, GetParam().name, pages);
    EXPECT_TRUE(store.has_value()) << store.error().message();
    parts.store = std::move(*store);
    return std::make_unique<EngineCore>(model_, options_, clock_, std::move(parts));
  }

  std::vector<Token> random_tokens(int64_t n) {
    std::vector<Token> tokens;
    for (int64_t i = 0; i < n; ++i) tokens.push_back(static_cast<Token>(rng_.below(kVocab)));
    return tokens;
  }
  // The next turn of an earlier text, another end of one, or a new text.
  std::vector<Token> next_prompt() {
    std::vector<Token> prompt;
    if (!texts_.empty() && rng_.below(6) != 0) prompt = texts_[rng_.below(texts_.size())];
    if (rng_.below(4) == 0) prompt.resize(rng_.below(prompt.size() + 1));
    const bool is_new = prompt.empty();
    const auto n = static_cast<int64_t>(1 + rng_.below(is_new ? 400 : 40));
    for (const Token token : random_tokens(n)) prompt.push_back(token);
    prompt.resize(std::min<size_t>(prompt.size(), kCtx - 30));
    return prompt;
  }

  struct Turn {
    std::vector<Token> expected, answer;
    std::vector<Token> text;
    FinishReason finish = FinishReason::none;
    int64_t n_cached = 0;
  };
  // A few requests at once, to their ends.
  void ask_some(EngineCore& core) {
    std::deque<Turn> turns;
    for (uint64_t n = 1 + rng_.below(3); n > 0; --n) {
      Turn& turn = turns.emplace_back();
      Request request;
      request.prompt = turn.text = next_prompt();
      request.params.max_tokens = static_cast<int64_t>(1 + rng_.below(24));
      request.params.seed = rng_.below(100);
      request.params.min_cache_tokens = 1;
      turn.expected = scripted_answer(request, kVocab, kCtx, GetParam().layers.tiered);
      request.on_event = [&turn](const Event& event) {
        turn.answer.insert(turn.answer.end(), event.ids.begin(), event.ids.end());
        turn.finish = event.finish;
        if (event.finish != FinishReason::none) turn.n_cached = event.timings.n_cached_tokens;
      };
      core.add(core.make_sequence(++n_requests_, std::move(request)));
    }
    run(core);
    for (Turn& turn : turns) {
      EXPECT_EQ(turn.answer, turn.expected)
          << "a text of " << turn.text.size() << " tokens, " << turn.n_cached << " of them cached";
      EXPECT_NE(turn.finish, FinishReason::error);
      turn.text.insert(turn.text.end(), turn.expected.begin(), turn.expected.end());
      texts_.push_back(std::move(turn.text));
      n_cached_ += turn.n_cached;
    }
  }
  // The disk answers when it likes: nobody waits for it by a clock.
  void run(EngineCore& core) {
    while (core.load().n_running + core.load().n_waiting > 0) {
      core.step(never_);
      EXPECT_TRUE(core.consistent());
      if (HasFailure()) return;
    }
  }

  StoreFolder folder_;
  FakeClock clock_;
  Model model_;
  EngineOptions options_;
  Rng rng_{7};
  std::vector<std::vector<Token>> texts_;
  RequestId n_requests_ = 0;
  int64_t n_cached_ = 0;                      // tokens
  int64_t page_bytes_ = 0, state_bytes_ = 0;  // of a record
  const StopFlag never_{false};
};

TEST_P(LayoutDisk, WhatIsReadBackChangesNoAnswer) {
  int64_t n_restored = 0, n_resumed = 0;
  for (int life = 0; life < 12; ++life) {
    SCOPED_TRACE(life);
    const auto core = new_core();
    const int64_t n_cached = n_cached_;
    ask_some(*core);  // nothing is in memory yet
    n_resumed += n_cached_ - n_cached;
    for (uint64_t round = rng_.below(6); round > 0; --round) ask_some(*core);
    if (HasFailure()) return;
    n_restored += core->kv_stats().restored_pages;
  }
  EXPECT_GT(n_restored, 30);
  EXPECT_GT(n_cached_, 1000);
  EXPECT_TRUE(n_resumed > 0 || !GetParam().resumes);
  RecordProperty("resumed", static_cast<int>(n_resumed));
}

// A long text has as many states on disk as pages of their size, and those at the ends of its
// prompt and its answer; after a restart it is resumed at the last one.
TEST_P(LayoutDisk, ATextHasFewStatesOnDisk) {
  constexpr int64_t kPrompt = 800, kAnswer = 30;
  Request request;
  request.prompt = random_tokens(kPrompt);
  request.params.max_tokens = kAnswer;
  request.params.seed = 1;
  int64_t n_cached = 0;
  request.on_event = [&](const Event& event) {
    if (event.finish != FinishReason::none) n_cached = event.timings.n_cached_tokens;
  };
  for (int life = 0; life < 2; ++life) {
    const auto core = new_core();
    core->add(core->make_sequence(++n_requests_, Request(request)));
    run(*core);
    if (life == 0) {
      EXPECT_EQ(n_cached, 0);
    }
  }
  const int64_t n_pages = (kPrompt + kAnswer) / kPageTokens;
  const CacheLayout layout = GetParam().layers.layout();
  const int64_t n_states = layout.state_bytes() > 0 ? n_pages / layout.checkpoint_pages() + 2 : 0;
  const int64_t slot = static_cast<int64_t>(kRecordHeaderBytes) + page_bytes_ + 64;
  const int64_t n_bytes = bytes_in(folder_.path());
  EXPECT_GT(n_bytes, n_pages * page_bytes_);
  EXPECT_LE(n_bytes, 512 + n_pages * slot + n_states * (state_bytes_ + slot));
  EXPECT_TRUE(n_cached > kPrompt - 3 * kPageTokens || !GetParam().resumes) << n_cached;
  RecordProperty("bytes", static_cast<int>(n_bytes));
  RecordProperty("padded", static_cast<int>(n_pages * (slot + state_bytes_)));
}

const LayoutCase kLayoutCases[] = {
    {"plain", {}},
    {"windows", {.windows = {40, 150}}},
    {"fewer_kept_than_are_written_at_once", {.windows = {20, 10}}, true, 6},
    {"state", {.has_state = true}},
    {"tokens_and_state_in_one_layer", {.has_both = true}},
    {"large_states", {.has_state = true, .has_both = true, .state_bytes = 20'000}},
    {"windows_and_state", {.windows = {70, 33}, .has_state = true}},
    {"tiers_and_window", {.tiered = true, .windows = {100}}},
    {"everything", {.tiered = true, .windows = {20, 300}, .has_state = true}, false},
};
INSTANTIATE_TEST_SUITE_P(Layouts, LayoutDisk, testing::ValuesIn(kLayoutCases),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace ruv
