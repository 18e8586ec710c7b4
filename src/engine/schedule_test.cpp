// The scheduler's rules one by one, and random lives of many sequences under invariants.
#include "engine/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include "base/rng.h"

namespace ruv {
namespace {

StepPlan plan_of(const ScheduleSnapshot& snapshot) {
  StepPlan plan;
  schedule(snapshot, plan);
  return plan;
}

TEST(Schedule, EveryDecodingSequenceGetsARowBeforePrompts) {
  ScheduleSnapshot s;
  s.limits.max_batch_tokens = 8;
  s.limits.max_mixed_tokens = 4;
  s.n_free_pages = 100;
  s.running = {{40, 39, 3}, {100, 20, 2}, {17, 16, 1}};
  const StepPlan plan = plan_of(s);
  ASSERT_EQ(plan.rows.size(), 3U);
  EXPECT_EQ(plan.rows[0].sequence, 0);
  EXPECT_EQ(plan.rows[1].sequence, 2);
  EXPECT_EQ(plan.rows[2].sequence, 1);
  EXPECT_EQ(plan.rows[2].n_tokens, 4);
}

TEST(Schedule, APromptAloneMayFillTheStep) {
  ScheduleSnapshot s;
  s.n_free_pages = 100;
  s.waiting = {{600, 0, 0}};
  const StepPlan plan = plan_of(s);
  EXPECT_EQ(plan.start.size(), 1U);
  ASSERT_EQ(plan.rows.size(), 1U);
  EXPECT_EQ(plan.rows[0].n_tokens, 512);
}

TEST(Schedule, TheYoungestGivesWayWhenPagesRunOut) {
  ScheduleSnapshot s;
  s.n_free_pages = 0;
  s.running = {{17, 16, 1, 1}, {33, 32, 2, 2}, {10, 9, 1, 1}};
  const StepPlan plan = plan_of(s);
  EXPECT_EQ(plan.preempt, (std::vector<int64_t>{2, 1}));
  ASSERT_EQ(plan.rows.size(), 1U);
  EXPECT_EQ(plan.rows[0].sequence, 0);
}

TEST(Schedule, PromptsThatWaitForEachOtherAreFreed) {
  ScheduleSnapshot s;
  s.n_free_pages = 0;
  s.running = {{64, 32, 2}, {64, 32, 2}};
  EXPECT_EQ(plan_of(s).preempt, (std::vector<int64_t>{1}));
}

TEST(Schedule, AWaitingPromptStartsOnlyWhenAllOfItFits) {
  ScheduleSnapshot s;
  s.n_free_pages = 3;
  s.running = {{20, 19, 2}};
  s.waiting = {{48, 0, 0}};  // 48 tokens and one more need 4 pages
  EXPECT_EQ(plan_of(s).start.size(), 0U);
  s.n_free_pages = 4;
  EXPECT_EQ(plan_of(s).start.size(), 1U);
}

TEST(Schedule, PlacesLimitHowManyRun) {
  ScheduleSnapshot s;
  s.limits.max_sequences = 2;
  s.n_free_pages = 100;
  s.waiting = {{5, 0, 0}, {5, 0, 0}, {5, 0, 0}};
  EXPECT_EQ(plan_of(s).start.size(), 2U);
}

// A world without a model: sequences that want a number of tokens, pages that are only counted.
class World {
 public:
  explicit World(uint64_t seed) : rng_(seed) {
    s_.limits.max_sequences = 1 + static_cast<int64_t>(rng_.below(8));
    s_.limits.max_batch_tokens = s_.limits.max_sequences + static_cast<int64_t>(rng_.below(64));
    s_.limits.max_mixed_tokens = 1 + static_cast<int64_t>(rng_.below(16));
    n_pages_ = 8 + static_cast<int64_t>(rng_.below(24));
  }

  void run() {
    const int64_t n_requests = 1 + static_cast<int64_t>(rng_.below(20));
    for (int64_t step = 0; finished_ < n_requests; ++step) {
      ASSERT_LT(step, 20000) << "no progress";
      if (arrived_ < n_requests && rng_.below(3) == 0) arrive();
      if (!running_.empty() && rng_.below(50) == 0) cancel();
      advance();
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_EQ(n_free(), n_pages_);
  }

 private:
  struct Life {
    SequenceView view;
    int64_t wanted = 0;  // tokens at the end
  };

  void arrive() {
    const int64_t prompt = 1 + static_cast<int64_t>(rng_.below(60));
    const int64_t most = n_pages_ * s_.limits.page_tokens;
    const int64_t wanted = std::min(most, prompt + static_cast<int64_t>(rng_.below(60)) + 1);
    waiting_.push_back({{prompt, 0, 0}, wanted});
    ++arrived_;
  }
  void cancel() {
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(rng_.below(running_.size())));
    ++finished_;
  }
  int64_t n_free() const {
    return std::accumulate(running_.begin(), running_.end(), n_pages_,
                           [](int64_t n, const Life& life) { return n - life.view.n_pages; });
  }

  void advance() {
    s_.n_free_pages = n_free();
    s_.running.clear();
    s_.waiting.clear();
    for (const Life& life : running_) s_.running.push_back(life.view);
    for (const Life& life : waiting_) s_.waiting.push_back(life.view);
    const StepPlan plan = plan_of(s_);
    ASSERT_TRUE(!plan.empty() || (running_.empty() && waiting_.empty()))
        << "work waits, none planned";
    for (int64_t index : plan.preempt) {
      Life life = running_[static_cast<size_t>(index)];
      running_.erase(running_.begin() + index);
      life.view.n_computed = life.view.n_pages = life.view.n_own = 0;
      waiting_.push_front(life);
    }
    for (size_t i = 0; i < plan.start.size(); ++i) {
      running_.push_back(waiting_.front());
      waiting_.pop_front();
    }
    ASSERT_LE(static_cast<int64_t>(running_.size()), s_.limits.max_sequences);
    int64_t n_rows = 0;
    std::vector<bool> planned(running_.size(), false);
    for (const StepPlan::Rows& rows : plan.rows) {
      const auto at = static_cast<size_t>(rows.sequence);
      ASSERT_LT(at, running_.size());
      ASSERT_FALSE(planned[at]) << "a sequence twice in a step";
      planned[at] = true;
      SequenceView& v = running_[at].view;
      n_rows += rows.n_tokens;
      v.n_computed += rows.n_tokens;
      ASSERT_LE(v.n_computed, v.n_tokens);
      v.n_pages =
          std::max(v.n_pages, (v.n_computed + s_.limits.page_tokens - 1) / s_.limits.page_tokens);
      v.n_own = v.n_pages;
      if (v.n_computed == v.n_tokens) ++v.n_tokens;
    }
    ASSERT_LE(n_rows, s_.limits.max_batch_tokens);
    ASSERT_GE(n_free(), 0) << "more pages planned than there are";
    const auto done = [&](const Life& life) { return life.view.n_tokens >= life.wanted; };
    finished_ += std::count_if(running_.begin(), running_.end(), done);
    std::erase_if(running_, done);
  }

  Rng rng_;
  ScheduleSnapshot s_;
  int64_t n_pages_ = 0;
  int64_t arrived_ = 0;
  int64_t finished_ = 0;
  std::vector<Life> running_;
  std::deque<Life> waiting_;
};

TEST(Schedule, RandomWorldsFinishAndNeverOverdraw) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    World(seed).run();
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace ruv
