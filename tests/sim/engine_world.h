// EngineWorld: a random life of a real EngineCore from one seed: requests with shared beginnings,
// priorities, tenants and deadlines arrive, are cancelled, run out of pages; steps are stopped in
// the middle. After each step all books must agree, and each answer must be what the scripted model
// says it is.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/rng.h"
#include "engine/engine_core.h"
#include "sim/scripted_executor.h"

namespace ruv {

class EngineWorld {
 public:
  // What happened, to see that simulations reach what they are for.
  struct Coverage {
    int64_t requests = 0;
    int64_t steps = 0;
    int64_t rows = 0;
    int64_t finished = 0;
    int64_t cancelled = 0;
    int64_t expired = 0;
    int64_t aborted_steps = 0;
    int64_t preemptions = 0;
    int64_t reused_tokens = 0;
    int64_t evicted_pages = 0;
    int64_t accepted_drafts = 0;
    int64_t shifted = 0;  // answers whose contexts were full
    uint64_t trace = 0;   // of all steps in order
    int64_t demoted_pages = 0;
    int64_t passed_pages = 0;           // that left a window's frames
    int64_t reused_behind_windows = 0;  // tokens
    int64_t reused_checkpoints = 0;     // tokens before them
    int64_t reused_media = 0;           // answers that began after a medium in their prompt
    int64_t preempted_media = 0;        // preemptions where prompts have media

    void add(const Coverage& other) {
      requests += other.requests;
      steps += other.steps;
      rows += other.rows;
      finished += other.finished;
      cancelled += other.cancelled;
      expired += other.expired;
      aborted_steps += other.aborted_steps;
      preemptions += other.preemptions;
      reused_tokens += other.reused_tokens;
      evicted_pages += other.evicted_pages;
      accepted_drafts += other.accepted_drafts;
      shifted += other.shifted;
      trace = trace * 31 + other.trace;
      demoted_pages += other.demoted_pages;
      passed_pages += other.passed_pages;
      reused_behind_windows += other.reused_behind_windows;
      reused_checkpoints += other.reused_checkpoints;
      reused_media += other.reused_media;
      preempted_media += other.preempted_media;
    }
  };

  explicit EngineWorld(uint64_t seed) : rng_(seed) {
    n_vocab_ = 4 + below(20);
    tiered_ = rng_.below(8) == 0;
    for (int64_t n = rng_.below(6) == 0 ? 1 + below(2) : 0; n > 0; --n) {
      windows_.push_back(1 + below(rng_.below(2) == 0 ? 20 : 150));
    }
    ScriptedLayers layers = {.tiered = tiered_, .windows = windows_};
    has_state_ = rng_.below(6) == 0;
    if (has_state_) {
      layers.has_both = rng_.below(2) == 0;
      layers.has_state = !layers.has_both || rng_.below(2) == 0;
      if (rng_.below(2) == 0) layers.state_bytes = 20'000;
    }
    n_pages_ = is_small() ? 20 + below(60) : 2 + below(rng_.below(2) == 0 ? 6 : 30);
    options_.n_threads = 1;
    options_.n_ctx = kPageTokens * n_pages_ - below(kPageTokens);
    options_.max_sequences = 1 + below(6);
    options_.max_batch_tokens = options_.max_sequences + 1 + below(80);
    options_.kv.max_tokens = kPageTokens * n_pages_;
    options_.kv.keep_prefixes = rng_.below(8) != 0;
    has_media_ = rng_.below(3) == 0;
    model_.h.n_vocab = n_vocab_;
    model_.h.n_embd = 1;
    auto executor =
        std::make_unique<ScriptedExecutor>(n_pages_, n_vocab_, clock_, layers, frame_limits());
    executor_ = executor.get();
    core_ = std::make_unique<EngineCore>(model_, options_, clock_,
                                         EngineParts{.executor = std::move(executor)});
    make_requests();
  }

  Coverage run() {
    int64_t n_idle = 0;
    while (n_arrived_ < lives_.size() || core_->has_work()) {
      arrive();
      if (rng_.below(60) == 0) cancel_one();
      if (rng_.below(50) == 0) executor_->abort_next();
      const int64_t n_rows = executor_->n_rows();
      const bool stepped = core_->step(never_);
      covered_.steps += stepped;
      EXPECT_TRUE(core_->consistent());
      n_idle = executor_->n_rows() > n_rows ? 0 : n_idle + 1;
      EXPECT_LT(n_idle, 50) << "work waits and nothing is computed";
      EXPECT_LT(covered_.steps, 20000) << "no end";
      if (testing::Test::HasFailure()) return covered_;
      if (!stepped) wait();
    }
    check_end();
    return covered_;
  }

 private:
  // As few as an engine may have, or a few more.
  FrameLimits frame_limits() {
    FrameLimits limits = EngineCore::frames_for_steps(options_);
    if (is_small()) limits.n_kept = below(12);
    if (has_state_) limits.n_checkpoints = below(12);
    return limits;
  }
  bool is_small() const { return tiered_ || !windows_.empty() || has_state_; }

  struct Prompt {
    std::vector<Token> tokens;
    std::vector<MediaSpan> media;

    // A medium that is cut is no medium: its placeholders become text.
    void cut(size_t n) {
      tokens.resize(n);
      std::erase_if(media,
                    [&](const MediaSpan& span) { return span.rows.end > static_cast<int64_t>(n); });
    }
  };
  struct Life {
    Request request;
    std::vector<MediaSpan> media;
    int64_t arrives_ns = 0;
    std::vector<Token> expected;
    std::vector<Token> answer;
    FinishReason finish = FinishReason::none;
    Code code = Code::ok;
  };

  int64_t below(int64_t n) { return static_cast<int64_t>(rng_.below(static_cast<uint64_t>(n))); }

  // Of a text; so that texts of tiered pages have groups, and those of windows leave them.
  int64_t longest() const { return is_small() ? 400 : 100; }

  std::vector<Token> random_tokens(int64_t n) {
    std::vector<Token> tokens;
    for (int64_t i = 0; i < n; ++i) tokens.push_back(static_cast<Token>(below(n_vocab_)));
    return tokens;
  }

  // With media of a few contents, some of which must stay whole.
  Prompt random_text(int64_t n) {
    Prompt text = {random_tokens(n), {}};
    if (!has_media_) return text;
    const int64_t most_whole =
        std::min<int64_t>(40, options_.max_batch_tokens - options_.max_sequences);
    for (int64_t at = below(20); at < n;) {
      const bool whole = rng_.below(2) == 0;
      const auto n_rows = static_cast<int32_t>(1 + below(whole ? most_whole : 40));
      if (at + n_rows > n) break;
      const auto content = static_cast<int32_t>(1 + below(3));
      text.media.push_back(scripted_media(content, at, n_rows, whole, rng_.below(2) == 0));
      std::fill_n(text.tokens.begin() + at, n_rows, Token{0});
      at += n_rows + below(20);
    }
    return text;
  }

  // Begins as a text of a few, as an earlier conversation, or as nothing else.
  Prompt random_prompt(const std::vector<Prompt>& texts) {
    Prompt prompt;
    if (!lives_.empty() && rng_.below(4) == 0) {
      const Life& earlier = lives_[rng_.below(lives_.size())];
      prompt = {earlier.request.prompt, earlier.media};
      prompt.tokens.insert(prompt.tokens.end(), earlier.expected.begin(), earlier.expected.end());
    } else if (rng_.below(3) != 0) {
      prompt = texts[rng_.below(texts.size())];
      prompt.cut(rng_.below(prompt.tokens.size() + 1));
    }
    const auto n_before = std::ssize(prompt.tokens);
    Prompt tail = random_text(1 + below(rng_.below(3) == 0 ? longest() : 20));
    prompt.tokens.insert(prompt.tokens.end(), tail.tokens.begin(), tail.tokens.end());
    for (MediaSpan& span : tail.media) {
      span.rows = {span.rows.begin + n_before, span.rows.end + n_before};
      prompt.media.push_back(std::move(span));
    }
    prompt.cut(std::min(prompt.tokens.size(), static_cast<size_t>(options_.n_ctx - 1)));
    return prompt;
  }

  void make_requests() {
    std::vector<Prompt> texts;
    for (int i = 0; i < 3; ++i) texts.push_back(random_text(1 + below(longest())));
    const int64_t n = 1 + below(12);
    const int64_t mean_gap_ms = 1 + below(120);
    int64_t at_ns = clock_.now_ns();
    for (int64_t i = 0; i < n; ++i) {
      Life life;
      Prompt prompt = random_prompt(texts);
      life.request.prompt = std::move(prompt.tokens);
      life.media = std::move(prompt.media);
      GenerateParams& params = life.request.params;
      params.max_tokens = rng_.below(12) == 0 ? -1 : below(50);
      params.temperature = rng_.below(3) == 0 ? 0.8 : 0;
      params.seed = rng_.below(1000);
      params.speculative = rng_.below(4) != 0;
      params.cache_prefix = rng_.below(8) != 0;
      params.min_cache_tokens = rng_.below(4) == 0 ? below(40) : 0;
      if (rng_.below(4) == 0) params.stop_tokens = random_tokens(1);
      if (life.media.empty() && rng_.below(32) == 0) {
        params.context_shift = true;
        params.n_keep = below(options_.n_ctx + 1) - 1;
        params.max_tokens = below(2 * options_.n_ctx);
      }
      ServiceTerms& terms = life.request.terms;
      terms.priority = static_cast<Priority>(rng_.below(4));
      terms.tenant = rng_.below(3) == 0 ? "other" : "";
      terms.timeout_ms = rng_.below(6) == 0 ? 1 + below(800) : 0;
      life.arrives_ns = at_ns += below(mean_gap_ms * 2) * 1'000'000;
      life.expected = scripted_answer(life.request, n_vocab_, options_.n_ctx, tiered_, life.media);
      lives_.push_back(std::move(life));
    }
  }

  void arrive() {
    for (; n_arrived_ < lives_.size() && lives_[n_arrived_].arrives_ns <= clock_.now_ns();
         ++n_arrived_) {
      const size_t i = n_arrived_;
      Request request = lives_[i].request;
      request.on_event = [this, i](const Event& event) { receive(lives_[i], event); };
      request.media = std::make_shared<LoadedMedia>(nullptr, lives_[i].media);
      core_->add(core_->make_sequence(static_cast<RequestId>(i + 1), std::move(request)));
      ++covered_.requests;
    }
  }

  void receive(Life& life, const Event& event) {
    EXPECT_EQ(life.finish, FinishReason::none) << "an event after the last one";
    life.answer.insert(life.answer.end(), event.ids.begin(), event.ids.end());
    life.finish = event.finish;
    life.code = event.status.code();
    if (event.finish == FinishReason::none) return;
    covered_.accepted_drafts += event.timings.n_accepted_tokens;
    covered_.shifted += event.timings.n_dropped_tokens > 0;
    if (!life.media.empty()) {
      covered_.reused_media += event.timings.n_cached_tokens >= life.media[0].rows.end;
    }
    const bool whole = event.finish == FinishReason::stop || event.finish == FinishReason::length;
    covered_.finished += whole;
    covered_.cancelled += event.finish == FinishReason::cancelled;
    covered_.expired += event.finish == FinishReason::error;
    const auto n = static_cast<size_t>(std::min(life.answer.size(), life.expected.size()));
    EXPECT_LE(life.answer.size(), life.expected.size());
    EXPECT_TRUE(std::equal(life.answer.begin(),
                           life.answer.begin() + static_cast<std::ptrdiff_t>(n),
                           life.expected.begin()))
        << "request " << (&life - lives_.data()) << " has a wrong answer";
    EXPECT_TRUE(!whole || life.answer.size() == life.expected.size());
    if (event.finish == FinishReason::error) {
      EXPECT_EQ(life.code, Code::deadline) << event.status.message();
      EXPECT_GT(life.request.terms.timeout_ms, 0);
    }
  }

  void cancel_one() {
    const RequestId id = 1 + rng_.below(n_arrived_ + 1);  // the last is not there
    core_->cancel(std::span(&id, 1));
  }

  void wait() {
    const bool idle = !core_->has_work() && n_arrived_ < lives_.size();
    const int64_t until = idle ? lives_[n_arrived_].arrives_ns : clock_.now_ns() + 1'000'000;
    clock_.advance_ns(std::max<int64_t>(0, until - clock_.now_ns()));
  }

  void check_end() {
    for (const Life& life : lives_) {
      EXPECT_NE(life.finish, FinishReason::none) << "request " << (&life - lives_.data());
    }
    const PagePool& pool = core_->pages();
    EXPECT_EQ(pool.n_free() + pool.n_evictable(), pool.n_pages()) << "pages are lost";
    const KvCacheStats stats = core_->kv_stats();
    covered_.rows = executor_->n_rows();
    covered_.trace = executor_->trace();
    covered_.aborted_steps = executor_->n_aborted();
    covered_.preemptions = stats.preemptions;
    if (has_media_) covered_.preempted_media = stats.preemptions;
    covered_.reused_tokens = stats.reused_tokens;
    covered_.evicted_pages = core_->prefixes().tree().stats().evicted_pages;
    covered_.demoted_pages = stats.demoted_pages;
    covered_.passed_pages = stats.passed_pages;
    if (has_state_) covered_.reused_checkpoints = stats.reused_tokens;
    if (stats.window_pages > 0) covered_.reused_behind_windows = stats.reused_tokens;
  }

  Rng rng_;
  FakeClock clock_;
  Model model_;
  EngineOptions options_;
  int64_t n_vocab_ = 0;
  int64_t n_pages_ = 0;
  bool tiered_ = false;
  std::vector<int64_t> windows_;
  bool has_state_ = false;
  bool has_media_ = false;
  ScriptedExecutor* executor_ = nullptr;  // the core's
  std::unique_ptr<EngineCore> core_;
  const StopFlag never_{false};
  std::vector<Life> lives_;  // in order of arrival
  size_t n_arrived_ = 0;
  Coverage covered_;
};

}  // namespace ruv
