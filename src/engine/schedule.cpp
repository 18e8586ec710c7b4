#include "engine/schedule.h"

#include <algorithm>

namespace ruv {
namespace {

int64_t pages_for(int64_t n_tokens, int64_t page_tokens) {
  return (n_tokens + page_tokens - 1) / page_tokens;
}

class Planner {
 public:
  Planner(const ScheduleSnapshot& snapshot, StepPlan& plan)
      : s_(snapshot), plan_(plan), n_free_(snapshot.n_free_pages + snapshot.n_evictable_pages) {}

  void run() {
    plan_.clear();
    n_kept_ = static_cast<int64_t>(s_.running.size());
    preempt_until_decodes_fit();
    plan_decodes();
    budget_ = n_decodes_ > 0
                  ? std::min(s_.limits.max_mixed_tokens, s_.limits.max_batch_tokens - n_decodes_)
                  : s_.limits.max_batch_tokens;
    continue_prompts();
    start_waiting();
    if (plan_.rows.empty() && plan_.preempt.empty() && n_kept_ > 1) {
      // Prompts wait for each other's pages: the youngest gives way.
      plan_.preempt.push_back(n_kept_ - 1);
    }
  }

 private:
  static bool decodes(const SequenceView& v) { return v.n_computed + 1 == v.n_tokens; }
  const SequenceView& running(int64_t i) const { return s_.running[static_cast<size_t>(i)]; }
  int64_t missing(const SequenceView& v, int64_t n_tokens) const {
    return std::max<int64_t>(0, pages_for(n_tokens, s_.limits.page_tokens) - v.n_pages);
  }

  void preempt_until_decodes_fit() {
    for (;;) {
      int64_t needed = 0;
      for (int64_t i = 0; i < n_kept_; ++i) {
        if (decodes(running(i))) needed += missing(running(i), running(i).n_tokens);
      }
      // A single sequence always fits: submit refuses what the pool cannot hold.
      if (needed <= n_free_ || n_kept_ <= 1) return;
      --n_kept_;
      n_free_ += running(n_kept_).n_own;
      plan_.preempt.push_back(n_kept_);
    }
  }

  void plan_decodes() {
    for (int64_t i = 0; i < n_kept_; ++i) {
      if (!decodes(running(i)) || n_decodes_ >= s_.limits.max_batch_tokens) continue;
      n_free_ -= missing(running(i), running(i).n_tokens);
      plan_.rows.push_back({i, 1, 0});
      ++n_decodes_;
    }
  }

  // Plans as much of a prompt as budget and pages allow; its pages come in whole chunks.
  void plan_chunk(int64_t index, const SequenceView& v) {
    int64_t n = std::min(budget_, v.n_tokens - v.n_computed);
    const int64_t holds = (v.n_pages + n_free_) * s_.limits.page_tokens;
    n = std::min(n, holds - v.n_computed);
    if (n <= 0) return;
    n_free_ -= missing(v, v.n_computed + n);
    budget_ -= n;
    plan_.rows.push_back({index, n, 0});
  }

  void continue_prompts() {
    for (int64_t i = 0; i < n_kept_ && budget_ > 0; ++i) {
      if (!decodes(running(i))) plan_chunk(i, running(i));
    }
  }

  // Pages that prompts already running will still want: new ones must not take them.
  int64_t pages_promised() const {
    int64_t promised = 0;
    for (int64_t i = 0; i < n_kept_; ++i) {
      if (!decodes(running(i))) promised += missing(running(i), running(i).n_tokens + 1);
    }
    for (const StepPlan::Rows& rows : plan_.rows) {
      if (rows.sequence >= n_kept_ || decodes(running(rows.sequence))) continue;
      const SequenceView& v = running(rows.sequence);
      promised -= missing(v, v.n_computed + rows.n_tokens);
    }
    return promised;
  }

  void start_waiting() {
    if (!plan_.preempt.empty()) return;  // pages are short
    int64_t promised = pages_promised();
    const auto n_waiting = static_cast<int64_t>(s_.waiting.size());
    int64_t n_start = 0;
    while (n_start < n_waiting && budget_ > 0 && n_kept_ + n_start < s_.limits.max_sequences) {
      const SequenceView& v = s_.waiting[static_cast<size_t>(n_start)];
      const int64_t whole = missing(v, v.n_tokens + 1) + v.n_pinned;
      const bool alone = n_kept_ + n_start == 0;
      if (whole + promised > n_free_ && !alone) return;
      const int64_t before = n_free_;
      n_free_ -= v.n_pinned;
      plan_chunk(n_kept_ + n_start, v);
      promised += whole - (before - n_free_);
      plan_.start.push_back(n_start++);
    }
  }

  const ScheduleSnapshot& s_;
  StepPlan& plan_;
  int64_t n_free_;
  int64_t n_kept_ = 0;
  int64_t n_decodes_ = 0;
  int64_t budget_ = 0;
};

}  // namespace

void schedule(const ScheduleSnapshot& snapshot, StepPlan& plan) { Planner(snapshot, plan).run(); }

}  // namespace ruv
