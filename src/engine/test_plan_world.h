// PlanWorld: a world without a model for the scheduler: requests that want a number of tokens,
// pages and cached prefixes that are only counted, a clock that a cost model drives. It carries out
// each plan and checks it on the way.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "engine/schedule.h"
#include "engine/tenants.h"

namespace ruv {

struct PlanRequest {
  std::string name;
  int64_t at_ms = 0;
  int64_t n_prompt = 1;
  int64_t n_answer = 1;
  Priority priority = Priority::normal;
  int64_t timeout_ms = -1;
  std::string tenant = {};
  std::string prefix = {};        // requests of one name share their first tokens
  int64_t n_prefix = 0;           // so many, in whole pages
  int64_t n_drafts = 0;           // wanted beside each generated token
  int64_t n_accepted = 0;         // of them, when granted
  std::vector<Range> whole = {};  // of the prompt, after its prefix
};

struct PlanOutcome {
  int64_t first_token_ms = -1;
  int64_t end_ms = -1;  // finished, expired or cancelled
  bool expired = false;
  bool cancelled = false;
  int64_t n_preempted = 0;
};

class PlanWorld {
 public:
  struct Step {
    double ms = 0;
    double decode_ms = 0;  // of its decode rows alone
    int64_t n_decodes = 0;
    int64_t n_prompt_rows = 0;
  };

  PlanWorld(const SchedulerLimits& limits, const StepCost& cost, int64_t n_pages,
            int64_t max_tenant_pages, std::vector<PlanRequest> requests)
      : cost_(cost), n_free_(n_pages), ledger_(max_tenant_pages), requests_(std::move(requests)) {
    s_.limits = limits;
    s_.n_pages = n_pages;
    outcomes_.resize(requests_.size());
    std::ranges::stable_sort(requests_, {}, &PlanRequest::at_ms);
  }

  // The scheduler knows the costs from the beginning.
  void reveal_cost() { s_.cost = cost_; }

  const std::vector<PlanRequest>& requests() const { return requests_; }
  const std::vector<PlanOutcome>& outcomes() const { return outcomes_; }
  const std::vector<Step>& steps() const { return steps_; }
  const StepPlan& plan() const { return plan_; }
  const ScheduleSnapshot& snapshot() const { return s_; }
  int64_t n_computed() const { return n_computed_; }  // rows of tokens, recomputed ones again
  int64_t n_preempted() const { return n_preempted_; }
  double now_ms() const { return now_ms_; }
  // Of a tenant that has requests; index as in snapshot().
  double served(int32_t tenant) const { return s_.tenants[static_cast<size_t>(tenant)].served; }
  const std::string& name_of_running(int64_t i) const { return request(running_[index(i)]).name; }
  const std::string& name_of_waiting(int64_t i) const { return request(waiting_[index(i)]).name; }

  // What did not hold; empty: all did.
  const std::string& failure() const { return failure_; }

  bool finished() const {
    return n_arrived_ == requests_.size() && running_.empty() && waiting_.empty();
  }

  // One step; `watch` sees snapshot and plan before they are carried out. False: see failure().
  bool advance(const std::function<void()>& watch = {}) {
    if (running_.empty() && waiting_.empty() && n_arrived_ < requests_.size()) {
      now_ms_ = std::max(now_ms_, static_cast<double>(requests_[n_arrived_].at_ms));
    }
    arrive();
    snap();
    schedule(s_, plan_);
    check();
    if (!failure_.empty()) return false;
    if (watch) watch();
    carry_out();
    expect(consistent(), "pages do not add up");
    return failure_.empty();
  }

  // Ends the k-th running one, if there is one.
  void cancel(size_t k) {
    if (k >= running_.size()) return;
    outcome(running_[k]).cancelled = true;
    end(running_[k]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(k));
  }

  // Pages free, held by sequences and cached add up to the pool.
  bool consistent() const {
    int64_t n = n_free_;
    for (const auto& [name, holders] : prefixes_) n += static_cast<int64_t>(holders.size());
    for (const Life& life : running_) n += life.n_own;
    return n == s_.n_pages && n_free_ >= 0;
  }

 private:
  struct Life {
    size_t request = 0;
    int32_t tenant = 0;
    int64_t n_tokens = 0;
    int64_t n_computed = 0;
    int64_t n_shared = 0;  // pages of the prefix that it holds with the cache
    int64_t n_own = 0;     // pages
    double first_token_ms = -1;
    double began_ms = 0;
    bool charged = false;
  };

  static size_t index(int64_t i) { return static_cast<size_t>(i); }
  const PlanRequest& request(const Life& life) const { return requests_[life.request]; }
  PlanOutcome& outcome(const Life& life) { return outcomes_[life.request]; }
  int64_t time() const { return static_cast<int64_t>(now_ms_); }
  int64_t page() const { return s_.limits.page_tokens; }
  int64_t pages_for(int64_t n) const { return (n + page() - 1) / page(); }
  int64_t prefix_pages(const Life& life) const {
    if (request(life).prefix.empty()) return 0;
    return std::min(request(life).n_prefix, request(life).n_prompt - 1) / page();
  }

  void arrive() {
    while (n_arrived_ < requests_.size() &&
           static_cast<double>(requests_[n_arrived_].at_ms) <= now_ms_) {
      Life life;
      life.request = n_arrived_++;
      life.n_tokens = request(life).n_prompt;
      life.began_ms = static_cast<double>(request(life).at_ms);
      life.tenant = ledger_.open(request(life).tenant);
      ledger_.queue(life.tenant, time());
      waiting_.push_back(life);
    }
  }

  SequenceView view(const Life& life) const {
    SequenceView v;
    v.n_tokens = life.n_tokens;
    v.n_computed = life.n_computed;
    v.whole = request(life).whole;
    v.priority = request(life).priority;
    v.tenant = life.tenant;
    const double until = life.first_token_ms >= 0 ? life.first_token_ms : now_ms_;
    v.waited_ms = static_cast<int64_t>(until - life.began_ms);
    if (request(life).timeout_ms >= 0) {
      const double left = life.began_ms + static_cast<double>(request(life).timeout_ms) - now_ms_;
      v.left_ms = std::max<int64_t>(0, static_cast<int64_t>(left));
    }
    return v;
  }

  int64_t cached_for(const Life& life) const {
    const auto found = prefixes_.find(request(life).prefix);
    if (found == prefixes_.end()) return 0;
    return std::min(prefix_pages(life), static_cast<int64_t>(found->second.size()));
  }

  void snap() {
    s_.n_free_pages = n_free_;
    s_.n_evictable_pages = 0;
    for (const auto& [name, holders] : prefixes_) {
      s_.n_evictable_pages += std::ranges::count(holders, 0);
    }
    s_.tenants = ledger_.views(time());
    s_.admitting = plan_.admitting;
    s_.running.clear();
    s_.waiting.clear();
    for (const Life& life : running_) {
      SequenceView v = view(life);
      v.n_pages = life.n_shared + life.n_own;
      v.n_own = life.n_own;
      if (life.n_shared > 0) {
        const std::vector<int>& holders = prefixes_.at(request(life).prefix);
        v.n_own += std::count(holders.begin(), holders.begin() + life.n_shared, 1);
      }
      v.n_drafts = request(life).n_drafts;
      s_.running.push_back(v);
    }
    for (const Life& life : waiting_) s_.waiting.push_back(view_of_waiting(life));
  }

  SequenceView view_of_waiting(const Life& life) const {
    SequenceView v = view(life);
    v.n_pages = cached_for(life);
    v.n_computed = v.n_pages * page();
    if (v.n_pages > 0) {
      const std::vector<int>& holders = prefixes_.at(request(life).prefix);
      v.n_pinned = std::count(holders.begin(), holders.begin() + v.n_pages, 0);
    }
    const auto would_share = [&](const Life& other) {
      if (request(other).prefix != request(life).prefix) return int64_t{0};
      const int64_t common = std::min(prefix_pages(other), prefix_pages(life)) * page();
      return other.n_computed < common ? common - v.n_computed : 0;
    };
    if (prefix_pages(life) == 0) return v;
    for (size_t i = 0; i < running_.size() + waiting_.size(); ++i) {
      const bool runs = i < running_.size();
      const Life& other = runs ? running_[i] : waiting_[i - running_.size()];
      if (&other == &life) break;
      if (would_share(other) <= v.n_coming) continue;
      v.n_coming = would_share(other);
      v.leader = static_cast<int64_t>(i);
    }
    return v;
  }

  void expect(bool holds, const char* what) {
    if (!holds && failure_.empty()) failure_ = what;
  }

  // What every plan must keep.
  void check() {
    const auto& limits = s_.limits;
    const auto n_running = static_cast<int64_t>(s_.running.size());
    std::set<int64_t> gone(plan_.preempt.begin(), plan_.preempt.end());
    gone.insert(plan_.expire_running.begin(), plan_.expire_running.end());
    const std::set<int64_t> started(plan_.start.begin(), plan_.start.end());
    expect(gone.size() == plan_.preempt.size() + plan_.expire_running.size(), "one goes twice");
    expect(started.size() == plan_.start.size(), "one starts twice");
    for (int64_t i : plan_.expire_waiting) expect(!started.contains(i), "one expires and starts");
    const int64_t n_kept = n_running - static_cast<int64_t>(gone.size());
    const auto n_started = static_cast<int64_t>(started.size());
    expect(n_started == 0 || n_kept + n_started <= limits.max_sequences, "too many run");
    int64_t n_rows = 0;
    std::set<int64_t> planned;
    for (const StepPlan::Rows& rows : plan_.rows) {
      expect(planned.insert(rows.sequence).second, "a sequence twice in a step");
      expect(!gone.contains(rows.sequence), "rows of one that goes");
      expect(rows.sequence < n_running + n_started, "no such sequence");
      if (!failure_.empty()) return;
      const SequenceView& v = viewed(rows.sequence);
      expect(rows.n_tokens > 0 && v.n_computed + rows.n_tokens <= v.n_tokens, "no such tokens");
      expect(std::ranges::none_of(v.whole,
                                  [&](const Range& r) {
                                    const int64_t end = v.n_computed + rows.n_tokens;
                                    return r.begin < end && end < r.end;
                                  }),
             "a whole range is cut");
      expect(rows.n_drafts >= 0 && rows.n_drafts <= v.n_drafts, "drafts that nobody wants");
      n_rows += rows.n_tokens + rows.n_drafts;
    }
    expect(n_rows <= limits.max_batch_tokens, "too many rows");
    for (int64_t i = 0; i < n_running; ++i) {
      const bool decodes = viewed(i).n_computed + 1 == viewed(i).n_tokens;
      expect(!decodes || gone.contains(i) || planned.contains(i), "a stream stands still");
    }
    expect(!plan_.empty() || (running_.empty() && waiting_.empty()), "work waits, none is done");
  }

  const SequenceView& viewed(int64_t sequence) const {
    const auto n_running = static_cast<int64_t>(s_.running.size());
    if (sequence < n_running) return s_.running[index(sequence)];
    return s_.waiting[index(plan_.start[index(sequence - n_running)])];
  }

  void carry_out() {
    std::vector<Life> next;
    std::vector<Life> queue;
    apply_ends(next, queue);
    std::vector<int64_t> slots = apply_starts(next);
    Step step;
    StepShape decodes;
    StepShape all;
    for (const StepPlan::Rows& rows : plan_.rows) {
      Life& life = next[index(slots[index(rows.sequence)])];
      const StepShape shape = StepShape::of(life.n_computed, rows.n_tokens + rows.n_drafts);
      all = all + shape;
      if (life.n_computed + 1 == life.n_tokens) {
        decodes = decodes + StepShape::of(life.n_computed, 1);
        ++step.n_decodes;
      } else {
        step.n_prompt_rows += rows.n_tokens;
      }
      compute(life, rows);
    }
    step.ms = cost_.step_ms(all);
    step.decode_ms = cost_.step_ms(decodes);
    s_.n_mixed_steps = step.n_decodes > 0 && step.n_prompt_rows > 0 ? s_.n_mixed_steps + 1 : 0;
    now_ms_ += std::max(step.ms, 0.01);
    steps_.push_back(step);
    for (const StepPlan::Rows& rows : plan_.rows) {
      generate(next[index(slots[index(rows.sequence)])], rows);
    }
    running_ = std::move(next);
    waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(),
                                  [](const Life& life) { return life.n_tokens == 0; }),
                   waiting_.end());
    waiting_.insert(waiting_.begin(), queue.begin(), queue.end());
    std::erase_if(running_, [&](Life& life) {
      if (life.n_tokens - request(life).n_prompt < request(life).n_answer) return false;
      end(life);
      return true;
    });
  }

  void apply_ends(std::vector<Life>& next, std::vector<Life>& queue) {
    for (int64_t i : plan_.expire_waiting) {
      outcome(waiting_[index(i)]).expired = true;
      ledger_.leave_queue(waiting_[index(i)].tenant);
      end(waiting_[index(i)]);
      waiting_[index(i)].n_tokens = 0;
    }
    slot_of_running_.assign(running_.size(), -1);
    for (size_t i = 0; i < running_.size(); ++i) {
      const auto in = [&](const std::vector<int64_t>& list) {
        return std::ranges::find(list, static_cast<int64_t>(i)) != list.end();
      };
      Life& life = running_[i];
      if (in(plan_.expire_running)) {
        outcome(life).expired = true;
        end(life);
      } else if (in(plan_.preempt)) {
        give_back(life);
        life.n_computed = 0;
        ++outcome(life).n_preempted;
        ++n_preempted_;
        ledger_.queue(life.tenant, time());
        queue.push_back(life);
      } else {
        slot_of_running_[i] = static_cast<int64_t>(next.size());
        next.push_back(life);
      }
    }
  }

  std::vector<int64_t> apply_starts(std::vector<Life>& next) {
    std::vector<int64_t> slots = slot_of_running_;
    for (int64_t i : plan_.start) {
      Life& life = waiting_[index(i)];
      life.n_shared = cached_for(life);
      life.n_computed = life.n_shared * page();
      for (int64_t k = 0; k < life.n_shared; ++k) ++prefixes_[request(life).prefix][index(k)];
      ledger_.start(life.tenant, life.charged ? 0 : life.n_tokens - life.n_computed, time());
      life.charged = true;
      slots.push_back(static_cast<int64_t>(next.size()));
      next.push_back(life);
      life.n_tokens = 0;
    }
    return slots;
  }

  void compute(Life& life, const StepPlan::Rows& rows) {
    n_computed_ += rows.n_tokens;
    const int64_t needed =
        pages_for(life.n_computed + rows.n_tokens + rows.n_drafts) - life.n_shared - life.n_own;
    for (int64_t i = 0; i < needed; ++i) {
      expect(take_page(), "more pages planned than there are");
      ++life.n_own;
    }
    life.n_computed += rows.n_tokens;
    cache_prefix(life);
  }

  bool take_page() {
    if (n_free_ > 0) return n_free_-- > 0;
    for (auto& [name, holders] : prefixes_) {
      if (holders.empty() || holders.back() > 0) continue;
      holders.pop_back();
      return true;
    }
    return false;
  }

  // Whole pages of its prefix enter the cache, or are replaced by those that are there.
  void cache_prefix(Life& life) {
    if (prefix_pages(life) == 0) return;
    std::vector<int>& holders = prefixes_[request(life).prefix];
    const int64_t n = std::min(prefix_pages(life), life.n_computed / page());
    for (; life.n_shared < n; ++life.n_shared, --life.n_own) {
      if (static_cast<int64_t>(holders.size()) > life.n_shared) {
        ++holders[index(life.n_shared)];
        ++n_free_;
      } else {
        holders.push_back(1);
      }
    }
  }

  void generate(Life& life, const StepPlan::Rows& rows) {
    if (life.n_computed < life.n_tokens) return;
    const int64_t accepted = std::min(rows.n_drafts, request(life).n_accepted);
    life.n_tokens += 1 + accepted;
    life.n_computed += accepted;
    ledger_.generated(life.tenant, 1 + accepted);
    if (life.first_token_ms >= 0) return;
    life.first_token_ms = now_ms_;
    outcome(life).first_token_ms = time();
  }

  void give_back(Life& life) {
    for (int64_t k = 0; k < life.n_shared; ++k) --prefixes_[request(life).prefix][index(k)];
    n_free_ += life.n_own;
    life.n_shared = life.n_own = 0;
  }

  void end(Life& life) {
    give_back(life);
    ledger_.close(life.tenant);
    outcome(life).end_ms = time();
  }

  ScheduleSnapshot s_;
  StepPlan plan_;
  std::string failure_;
  StepCost cost_;
  int64_t n_free_;
  TenantLedger ledger_;
  std::map<std::string, std::vector<int>> prefixes_;  // cached pages: how many sequences hold each
  std::vector<PlanRequest> requests_;                 // in order of arrival
  std::vector<PlanOutcome> outcomes_;
  size_t n_arrived_ = 0;
  std::vector<Life> running_;
  std::vector<Life> waiting_;
  std::vector<int64_t> slot_of_running_;
  std::vector<Step> steps_;
  int64_t n_computed_ = 0;
  int64_t n_preempted_ = 0;
  double now_ms_ = 0;
};

}  // namespace ruv
