// schedule: the pure decision of what the next step computes. A function of a snapshot, so that
// tests and simulation need no engine.
//
// Rules, in order:
//   1. Sequences that decode get one row each, oldest first.
//   2. Where pages do not suffice for rule 1, the youngest running sequences are preempted: their
//      pages are dropped and they wait, first in the queue, to be computed again.
//   3. Prompts continue, oldest first, in chunks, within the token budget of the step.
//   4. Waiting sequences start, first come first served, while rows, pages and places suffice. A
//      sequence starts only when pages for its whole prompt and one more token are free.
#pragma once

#include <cstdint>
#include <vector>

namespace ruv {

struct SchedulerLimits {
  int64_t max_sequences = 8;
  int64_t max_batch_tokens = 512;
  // Prompt tokens beside decoding sequences: what bounds the wait between their tokens.
  int64_t max_mixed_tokens = 128;
  int64_t page_tokens = 16;
};

// One sequence as the scheduler sees it, running ones in order of arrival.
struct SequenceView {
  int64_t n_tokens = 0;    // known: prompt and what was generated
  int64_t n_computed = 0;  // of them in the cache
  int64_t n_pages = 0;     // held
};

struct ScheduleSnapshot {
  SchedulerLimits limits;
  int64_t n_free_pages = 0;
  std::vector<SequenceView> running;
  std::vector<SequenceView> waiting;  // next first
};

struct StepPlan {
  // Rows of one sequence: tokens [n_computed, n_computed + n_tokens). The last known token's row
  // gives logits.
  struct Rows {
    int64_t sequence = 0;  // index into running; started ones follow the running ones
    int64_t n_tokens = 0;
  };
  std::vector<int64_t> preempt;  // indexes into running, youngest first
  int64_t n_start = 0;           // of the waiting, from the front
  std::vector<Rows> rows;
  bool empty() const { return rows.empty() && preempt.empty(); }
  void clear() {
    preempt.clear();
    n_start = 0;
    rows.clear();
  }
};

// Writes into `plan` so that a step allocates nothing.
void schedule(const ScheduleSnapshot& snapshot, StepPlan& plan);

}  // namespace ruv
