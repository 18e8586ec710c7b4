#include "engine/schedule.h"

#include <algorithm>

#include "engine/schedule_budget.h"
#include "engine/schedule_order.h"
#include "engine/schedule_pages.h"
#include "engine/schedule_prompts.h"

namespace ruv {
namespace {

// Applies the rules of docs/scheduler.md in their order. Holds references to the snapshot and the
// plan for the time of one call.
class Planner {
 public:
  Planner(const ScheduleSnapshot& snapshot, StepPlan& plan)
      : s_(snapshot), plan_(plan), scratch_(plan.scratch), pages_(snapshot) {}

  void run() {
    prepare();
    expire();
    preempt_until_decodes_fit();
    const int64_t urgent = plan_.preempt.empty() ? make_room_for_higher_class() : -1;
    plan_decodes();
    if (measures_streams()) {
      plan_.admitting = pages_.admits(s_.admitting);
      return;
    }
    StepBudget budget(s_.limits, s_.cost, decodes_);
    gather_prompts();
    if (urgent >= 0) start(urgent);
    plan_.admitting = pages_.admits(s_.admitting);
    if (plan_.preempt.empty()) start_waiting(budget);
    plan_prompts(budget);
    plan_drafts(budget);
    break_deadlock();
  }

 private:
  const SequenceView& running(int64_t i) const { return s_.running[static_cast<size_t>(i)]; }
  const SequenceView& waiting(int64_t i) const { return s_.waiting[static_cast<size_t>(i)]; }
  int64_t n_running() const { return static_cast<int64_t>(s_.running.size()); }
  int64_t n_waiting() const { return static_cast<int64_t>(s_.waiting.size()); }
  bool runs(int64_t i) const { return scratch_.gone[static_cast<size_t>(i)] == 0; }
  bool settled(int64_t i) const { return scratch_.settled[static_cast<size_t>(i)] != 0; }
  int class_in(const SequenceView& v) const { return class_of(v, s_.limits); }
  // The last entry is for sequences without a tenant.
  size_t tenant_of(const SequenceView& v) const {
    const bool known = v.tenant >= 0 && static_cast<size_t>(v.tenant) < s_.tenants.size();
    return known ? static_cast<size_t>(v.tenant) : s_.tenants.size();
  }

  void hold_for_tenant(const SequenceView& v) {
    scratch_.tenant_pages[tenant_of(v)] += pages_.pages_for(v.n_tokens + 1);
  }

  void prepare() {
    plan_.clear();
    scratch_.gone.assign(s_.running.size(), 0);
    scratch_.settled.assign(s_.waiting.size(), 0);
    scratch_.tenants.assign(s_.tenants.begin(), s_.tenants.end());
    scratch_.tenants.emplace_back();
    scratch_.tenant_pages.assign(scratch_.tenants.size(), 0);
    for (const SequenceView& v : s_.running) hold_for_tenant(v);
    n_kept_ = n_running();
  }

  void expire() {
    for (int64_t i = 0; i < n_running(); ++i) {
      if (running(i).left_ms == 0) drop(i, plan_.expire_running);
    }
    for (int64_t i = 0; i < n_waiting(); ++i) {
      if (waiting(i).left_ms != 0) continue;
      plan_.expire_waiting.push_back(i);
      scratch_.settled[static_cast<size_t>(i)] = 1;
    }
  }

  void drop(int64_t i, std::vector<int64_t>& list) {
    list.push_back(i);
    scratch_.gone[static_cast<size_t>(i)] = 1;
    pages_.give_back(running(i));
    --n_kept_;
  }

  // The sequence to preempt: the lowest class, and in it the one that started last, which loses the
  // least work. The oldest of the highest class is never preempted, so work always finishes. -1:
  // none below `limit`.
  int64_t first_to_give_way(int limit) const {
    int64_t victim = -1;
    for (int64_t i = n_running() - 1; i >= 0; --i) {
      if (!runs(i) || class_in(running(i)) >= limit) continue;
      if (victim < 0 || class_in(running(i)) < class_in(running(victim))) victim = i;
    }
    return victim;
  }

  int64_t pages_for_decodes() const {
    int64_t n = 0;
    for (int64_t i = 0; i < n_running(); ++i) {
      if (runs(i) && decodes(running(i)))
        n += pages_.missing(running(i).n_pages, running(i).n_tokens);
    }
    return n;
  }

  void preempt_until_decodes_fit() {
    // A single sequence always fits: submit refuses what the pool cannot hold.
    while (n_kept_ > 1 && pages_for_decodes() > pages_.available()) {
      drop(first_to_give_way(kPriorityClasses), plan_.preempt);
    }
  }

  // What pages_ would promise and decodes would take, before either is done.
  bool has_room_for(const SequenceView& v) const {
    if (n_kept_ == 0) return true;
    if (n_kept_ >= s_.limits.max_sequences) return false;
    PageAccount pages = pages_;
    pages.take(pages_for_decodes());
    for (int64_t i = 0; i < n_running(); ++i) {
      if (!runs(i) || decodes(running(i))) continue;
      pages.promise(pages.missing(running(i).n_pages, running(i).n_tokens + 1));
    }
    return pages.has_room_for(v);
  }

  // A waiting sequence whose own priority is above the class of running ones takes their place. Age
  // does not count: an aged one could be preempted by those it preempts, forever. Returns the
  // sequence to start, or -1.
  int64_t make_room_for_higher_class() {
    const int64_t lowest = first_to_give_way(kPriorityClasses);
    if (lowest < 0) return -1;
    int64_t best = -1;
    for (int64_t i = 0; i < n_waiting(); ++i) {
      const SequenceView& v = waiting(i);
      if (settled(i) || static_cast<int>(v.priority) <= class_in(running(lowest))) continue;
      if (waits_for_leader(v) || is_over_quota(v)) continue;
      if (best < 0 || v.priority > waiting(best).priority ||
          (v.priority == waiting(best).priority && starts_before(v, waiting(best), s_.limits)))
        best = i;
    }
    if (best < 0 || (s_.admitting && has_room_for(waiting(best)))) return -1;
    return preempt_for(waiting(best)) ? best : -1;
  }

  // Preempts enough sequences to make room for `v`, or none.
  bool preempt_for(const SequenceView& v) {
    const PageAccount pages = pages_;
    const int64_t n_kept = n_kept_;
    while (!has_room_for(v)) {
      const int64_t victim = first_to_give_way(static_cast<int>(v.priority));
      if (victim < 0) {
        for (int64_t i : plan_.preempt) scratch_.gone[static_cast<size_t>(i)] = 0;
        plan_.preempt.clear();
        pages_ = pages;
        n_kept_ = n_kept;
        return false;
      }
      drop(victim, plan_.preempt);
    }
    return true;
  }

  // One row for each decoding sequence.
  void plan_decodes() {
    for (int64_t i = 0; i < n_running(); ++i) {
      const SequenceView& v = running(i);
      if (!runs(i) || !decodes(v) || decodes_.n_rows >= s_.limits.max_batch_tokens) continue;
      pages_.take(pages_.missing(v.n_pages, v.n_tokens));
      plan_.rows.push_back({i, 1, 0});
      decodes_ = decodes_ + StepShape::of(v.n_computed, 1, 1);
    }
  }

  // Whether this step has only the streams, to measure them.
  bool measures_streams() const {
    return decodes_.n_rows > 0 && plan_.preempt.empty() &&
           s_.n_mixed_steps >= s_.limits.max_mixed_steps;
  }

  void gather_prompts() {
    scratch_.prompts.clear();
    for (int64_t i = 0; i < n_running(); ++i) {
      const SequenceView& v = running(i);
      if (!runs(i) || decodes(v)) continue;
      pages_.promise(pages_.missing(v.n_pages, v.n_tokens + 1));
      scratch_.prompts.push_back({i, &v, v.n_pages});
    }
  }

  // A tenant that holds nothing may always start one.
  bool is_over_quota(const SequenceView& v) const {
    const size_t tenant = tenant_of(v);
    const int64_t quota = scratch_.tenants[tenant].max_pages;
    const int64_t held = scratch_.tenant_pages[tenant];
    return quota > 0 && held > 0 && held + pages_.pages_for(v.n_tokens + 1) > quota;
  }

  // What another request is about to compute need not be computed twice. Only for a leader that
  // runs or starts now and is not of a lower class: such a one will finish.
  bool waits_for_leader(const SequenceView& v) const {
    if (v.leader < 0 || v.n_coming < s_.limits.page_tokens) return false;
    if (v.leader < n_running()) {
      const SequenceView& leader = running(v.leader);
      return runs(v.leader) && !decodes(leader) && class_in(leader) >= class_in(v);
    }
    return std::ranges::find(plan_.start, v.leader - n_running()) != plan_.start.end();
  }

  // The next request of each tenant, and the first among those; -1: none waits.
  int64_t next_waiting() {
    std::vector<int64_t>& next = scratch_.tenant_next;
    next.assign(scratch_.tenants.size(), -1);
    for (int64_t i = 0; i < n_waiting(); ++i) {
      if (settled(i)) continue;
      int64_t& first = next[tenant_of(waiting(i))];
      if (first < 0 || starts_before(waiting(i), waiting(first), s_.limits)) first = i;
    }
    size_t best = 0;
    const auto candidate = [&](size_t t) {
      return TenantsNext{waiting(next[t]), scratch_.tenants[t]};
    };
    for (size_t t = 1; t < next.size(); ++t) {
      if (next[t] < 0) continue;
      if (next[best] < 0 || starts_before(candidate(t), candidate(best), s_.limits)) best = t;
    }
    return next[best];
  }

  void start(int64_t i) {
    const SequenceView& v = waiting(i);
    pages_.take(v.n_pinned);
    pages_.promise(pages_.missing(v.n_pages, v.n_tokens + 1));
    TenantView& tenant = scratch_.tenants[tenant_of(v)];
    tenant.served += static_cast<double>(v.n_tokens - v.n_computed);
    tenant.unserved_ms = 0;
    hold_for_tenant(v);
    scratch_.prompts.push_back(
        {n_running() + static_cast<int64_t>(plan_.start.size()), &v, v.n_pages});
    plan_.start.push_back(i);
    scratch_.settled[static_cast<size_t>(i)] = 1;
    ++n_kept_;
  }

  // No request overtakes the first one that finds no room; large ones would never find any.
  void start_waiting(const StepBudget& budget) {
    const int64_t n_rows = budget.rows_for(0, s_.limits.max_batch_tokens);
    const int64_t most = std::max<int64_t>(2, n_rows / s_.limits.useful_chunk_tokens);
    while (n_kept_ < s_.limits.max_sequences &&
           static_cast<int64_t>(scratch_.prompts.size()) < most && budget.n_rows_free() > 0) {
      const int64_t i = next_waiting();
      if (i < 0) return;
      if (waits_for_leader(waiting(i)) || is_over_quota(waiting(i))) {
        scratch_.settled[static_cast<size_t>(i)] = 1;
        continue;
      }
      if (n_kept_ > 0 && !(plan_.admitting && pages_.has_room_for(waiting(i)))) return;
      start(i);
    }
  }

  void plan_prompts(StepBudget& budget) {
    PromptSharing(s_.limits, pages_, budget, plan_.rows).share(scratch_.prompts);
    // A sequence that starts without rows still needs the page for the copy of its prefix's end.
    for (const StepPlan::Prompt& prompt : scratch_.prompts) {
      if (prompt.sequence < n_running()) continue;
      const int64_t n = pages_.missing(prompt.n_pages, prompt.view->n_computed);
      pages_.take(n);
      pages_.promise(-n);
    }
  }

  // From what is left: prompts, and pages that prompts will need, take precedence over drafts.
  void plan_drafts(StepBudget& budget) {
    const bool has_prompts = static_cast<int64_t>(plan_.rows.size()) > decodes_.n_rows;
    for (int64_t k = 0; k < decodes_.n_rows; ++k) {
      StepPlan::Rows& rows = plan_.rows[static_cast<size_t>(k)];
      const SequenceView& v = running(rows.sequence);
      int64_t n = std::min(v.n_drafts, budget.n_rows_free());
      if (has_prompts) n = std::min(n, budget.rows_for(v.n_tokens, n));
      const int64_t n_held = std::max(v.n_pages, pages_.pages_for(v.n_tokens));
      const int64_t n_spare = std::max<int64_t>(0, pages_.available() - pages_.promised());
      n = std::min(n, (n_held + n_spare) * s_.limits.page_tokens - v.n_tokens);
      if (n <= 0) continue;
      pages_.take(pages_.missing(n_held, v.n_tokens + n));
      budget.spend(StepShape::drafts(v.n_tokens, n));
      rows.n_drafts = n;
    }
  }

  // If all prompts wait for each other's pages, preempts one.
  void break_deadlock() {
    if (plan_.rows.empty() && plan_.start.empty() && plan_.preempt.empty() && n_kept_ > 1) {
      drop(first_to_give_way(kPriorityClasses), plan_.preempt);
    }
  }

  const ScheduleSnapshot& s_;
  StepPlan& plan_;
  StepPlan::Scratch& scratch_;
  PageAccount pages_;
  int64_t n_kept_ = 0;  // running and started, without expired and preempted ones
  StepShape decodes_;   // all rows of sequences that decode, without drafts
};

}  // namespace

void schedule(const ScheduleSnapshot& snapshot, StepPlan& plan) { Planner(snapshot, plan).run(); }

}  // namespace ruv
