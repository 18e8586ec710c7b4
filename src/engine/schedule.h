// schedule: the pure decision of what the next step computes. A function of a snapshot, so that
// tests and simulation need no engine. Its rules are on one page in docs/scheduler.md.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/step_cost.h"
#include "ruv/params.h"

namespace ruv {

struct SchedulerLimits {
  int64_t max_sequences = 8;
  int64_t max_batch_tokens = 512;
  // Prompt tokens beside decoding sequences while no step was measured yet.
  int64_t max_mixed_tokens = 128;
  // The most urgent prompt goes on by so many tokens a step, whatever the latency target says.
  int64_t min_chunk_tokens = 1;
  // What the rows of a step are worth sharing for: with fewer a prompt has one other beside it, and
  // that one gets none when fewer than half of this are left.
  int64_t useful_chunk_tokens = 8;
  // A step with prompts may take so many times what its decode rows alone would.
  double step_target = 1.9;
  // After so many steps in a row (at least 1) with streams and prompts one has neither prompts nor
  // drafts, so that it stays known what the streams alone take.
  int64_t max_mixed_steps = 32;
  // With nobody decoding: how long a step of prompts may take, by the cost model.
  double max_prompt_step_ms = 500;
  // A request that waited so long counts one class higher, twice as long two, and so on.
  int64_t ageing_ms = 2000;
  // Shares of all pages held by running sequences: from `high` on nobody starts until it is `low`.
  double low_watermark = 0.70;
  double high_watermark = 0.85;
  int64_t page_tokens = 16;
};

// One sequence as the scheduler sees it.
struct SequenceView {
  int64_t n_tokens = 0;    // known: prompt and what was generated
  int64_t n_computed = 0;  // of them in the cache; of a waiting one: what the prefix tree has
  int64_t n_pages = 0;     // held; of a waiting one: whole pages of the tree it would share
  int64_t n_own = 0;       // running: of n_pages, those that no other sequence holds
  int64_t n_pinned = 0;    // waiting: of n_pages, those that are evictable until it starts
  // waiting: tokens beyond n_computed that `leader` is about to compute and it could share if it
  // waited. leader: an index into running, or running.size() + an index into waiting; -1: nobody.
  int64_t n_coming = 0;
  int64_t leader = -1;
  int64_t n_drafts = 0;  // running, decoding: draft rows it would like behind its token
  Priority priority = Priority::normal;
  int64_t waited_ms = 0;  // from its arrival to its first token; stays from then on
  int64_t left_ms = -1;   // until its deadline; 0: it has passed; -1: it has none
  int32_t tenant = 0;     // index into tenants; no such entry: one without counter and quota
};

struct TenantView {
  double served = 0;        // weighted tokens it was given: see TenantLedger
  int64_t unserved_ms = 0;  // while it queues: since it last started one
  int64_t max_pages = 0;    // that its running sequences may hold; 0: no quota
};

struct ScheduleSnapshot {
  SchedulerLimits limits;
  StepCost cost;
  int64_t n_pages = 0;                // of the pool; 0: no watermarks
  int64_t n_free_pages = 0;           // held by nobody
  int64_t n_evictable_pages = 0;      // held by the prefix tree and nobody else
  bool admitting = true;              // what the plan before said
  int64_t n_mixed_steps = 0;          // up to now, in a row, with streams and prompts
  std::vector<SequenceView> running;  // in order of start
  std::vector<SequenceView> waiting;  // in order of arrival, preempted ones before
  std::vector<TenantView> tenants;
};

struct StepPlan {
  // Rows of one sequence: tokens [n_computed, n_computed + n_tokens), and n_drafts behind them. The
  // last known token's row gives logits.
  struct Rows {
    int64_t sequence = 0;  // index into running; running.size() + k is the k-th of `start`
    int64_t n_tokens = 0;
    int64_t n_drafts = 0;
  };
  // Indexes into the snapshot as it was: nothing is erased before all of them are used.
  std::vector<int64_t> expire_running;  // their deadline passed
  std::vector<int64_t> expire_waiting;
  std::vector<int64_t> preempt;  // running ones that give back their pages and wait again
  std::vector<int64_t> start;    // waiting ones, in order; some may get no rows in this step
  std::vector<Rows> rows;        // decoding sequences first, then prompts
  bool admitting = true;         // false: too many pages are held for anybody to start
  bool empty() const {
    return rows.empty() && preempt.empty() && start.empty() && expire_running.empty() &&
           expire_waiting.empty();
  }
  void clear() {
    expire_running.clear();
    expire_waiting.clear();
    preempt.clear();
    start.clear();
    rows.clear();
    admitting = true;
  }

  // Working memory of schedule(), kept so that a step allocates nothing.
  struct Prompt {
    int64_t sequence = 0;  // as in Rows
    const SequenceView* view = nullptr;
    int64_t n_pages = 0;  // held
  };
  struct Scratch {
    std::vector<Prompt> prompts;
    std::vector<uint8_t> gone;        // of running: expired or preempted
    std::vector<uint8_t> settled;     // of waiting: expired, started or passed over
    std::vector<TenantView> tenants;  // with what starts in this step; the last: of no tenant
    std::vector<int64_t> tenant_pages;
    std::vector<int64_t> tenant_next;  // of waiting; -1: none
  } scratch;
};

// Requires: max_batch_tokens >= max_sequences, and that each sequence alone fits the pool.
void schedule(const ScheduleSnapshot& snapshot, StepPlan& plan);

}  // namespace ruv
