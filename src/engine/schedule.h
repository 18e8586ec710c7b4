// schedule: the pure decision of what the next step computes. It is a function of a snapshot, so
// tests and simulation need no engine. docs/scheduler.md has its rules on one page, in the order in
// which they are applied here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/range.h"
#include "engine/step_cost.h"
#include "ruv/params.h"

namespace ruv {

// The policy. Defaults suit an interactive server on a CPU.
struct SchedulerLimits {
  // Sequences that run at once. More of them share each read of the weights, which raises
  // throughput, but every stream gets slower and each needs pages.
  int64_t max_sequences = 8;
  // Rows of one step at most. Larger steps make prefill more efficient and delay everything that
  // waits for the step to end; buffers grow with this number.
  int64_t max_batch_tokens = 512;
  // Prompt tokens in a step with decoding sequences, until steps have been measured. Afterwards
  // step_target decides.
  int64_t max_mixed_tokens = 128;
  // The most urgent prompt advances by at least this many tokens per step, whatever the latency
  // target says. Raising it speeds up prompts under load at the cost of the streams' pace.
  int64_t min_chunk_tokens = 1;
  // Smallest chunk worth scheduling. If fewer rows are free, at most two prompts share the step,
  // and the second gets nothing below half this size.
  int64_t useful_chunk_tokens = 8;
  // While sequences decode, a step with prompts may take this many times what its decode rows alone
  // would take. At t, streams run at 1/t of their speed and a prompt takes t / (t - 1) times as
  // long as alone.
  double step_target = 1.9;
  // After this many consecutive mixed steps (at least 1), one step decodes only, without drafts, to
  // measure the cost of the streams alone. Lower values track it better and slow prompts down a
  // little.
  int64_t max_mixed_steps = 32;
  // While no sequence decodes: how long a step of prompts may take, by the cost model. It bounds
  // how long a new request waits for the step to end.
  double max_prompt_step_ms = 500;
  // A waiting request rises by one priority class for each period of this length.
  int64_t ageing_ms = 2000;
  // Shares of all pages held by running sequences. Once `high` is reached no request starts until
  // the share has fallen to `low`. Raising `high` runs more requests at once and preempts more
  // often.
  double low_watermark = 0.70;
  double high_watermark = 0.85;
  int64_t page_tokens = 16;
};

// One sequence as the scheduler sees it. Fields that begin "waiting:" or "running:" are meaningful
// only for such sequences.
struct SequenceView {
  int64_t n_tokens = 0;    // prompt and generated tokens
  int64_t n_computed = 0;  // of these, computed; waiting: found in the prefix tree
  int64_t n_pages = 0;     // held; waiting: whole pages of the tree it would share
  int64_t n_own = 0;       // running: of n_pages, those that no other sequence holds
  int64_t n_pinned = 0;    // waiting: of n_pages, those that are evictable until it starts
  // waiting: tokens beyond n_computed that `leader` is about to compute and that this one could
  // share if it waited. leader: an index into running, or running.size() + an index into waiting;
  // -1: none.
  int64_t n_coming = 0;
  int64_t leader = -1;
  // Prompt tokens that one step must compute together, such as the rows of an image that see each
  // other or the text of an encoder: ranges of at most max_batch_tokens - max_sequences tokens, in
  // order. n_computed is inside none of them.
  std::span<const Range> whole = {};
  // Prompt tokens that one step computes at most, as where each gives logits; 0: any number. Not
  // with `whole`.
  int64_t max_rows = 0;
  int64_t n_drafts = 0;  // running, decoding: draft rows that it asks for
  Priority priority = Priority::normal;
  int64_t waited_ms = 0;  // from its arrival to its first token; stays from then on
  int64_t left_ms = -1;   // until its deadline; 0: it has passed; -1: it has none
  int32_t tenant = 0;     // index into tenants; no such entry: one without counter and quota
};

struct TenantView {
  double served = 0;        // weighted tokens it has received: see TenantLedger
  int64_t unserved_ms = 0;  // while it queues: since its last start of a request
  int64_t max_pages = 0;    // that its running sequences may hold; 0: no quota
};

struct ScheduleSnapshot {
  SchedulerLimits limits;
  StepCost cost;
  int64_t n_pages = 0;                // of the pool; 0: no watermarks
  int64_t n_free_pages = 0;           // without holders
  int64_t n_evictable_pages = 0;      // held by the prefix tree only
  bool admitting = true;              // StepPlan::admitting of the plan before
  int64_t n_mixed_steps = 0;          // up to now, in a row, with streams and prompts
  std::vector<SequenceView> running;  // in order of start
  std::vector<SequenceView> waiting;  // in order of arrival, preempted ones before
  std::vector<TenantView> tenants;
};

struct StepPlan {
  // Rows of one sequence: tokens [n_computed, n_computed + n_tokens), followed by n_drafts draft
  // rows. The row of the last known token gives logits.
  struct Rows {
    int64_t sequence = 0;  // index into running; running.size() + k is the k-th of `start`
    int64_t n_tokens = 0;
    int64_t n_drafts = 0;
  };
  // Indexes into the snapshot as given; use all of them before erasing anything.
  std::vector<int64_t> expire_running;  // their deadline passed
  std::vector<int64_t> expire_waiting;
  std::vector<int64_t> preempt;  // running ones that give back their pages and wait again
  std::vector<int64_t> start;    // waiting ones, in order; some may get no rows in this step
  std::vector<Rows> rows;        // decoding sequences first, then prompts
  bool admitting = true;         // false: above the watermark, no request starts
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

// Replaces `plan`. Allocates nothing once the vectors have grown. Requires: max_batch_tokens >=
// max_sequences; each sequence alone fits into the pool.
void schedule(const ScheduleSnapshot& snapshot, StepPlan& plan);

}  // namespace ruv
