// ScheduleInput: what the scheduler knows of an engine's sequences, pages and tenants before each
// step. The scheduler itself sees numbers only (engine/schedule.h).
#pragma once

#include "cache/page_pool.h"
#include "engine/prefix_cache.h"
#include "engine/schedule.h"
#include "engine/sequence_lists.h"
#include "engine/tenants.h"

namespace ruv {

class ScheduleInput {
 public:
  // All outlive it.
  // max_scored_rows: of a prompt that is scored, in one step.
  ScheduleInput(const EngineOptions& options, const PagePool& pool, PrefixCache& prefixes,
                TenantLedger& tenants, int64_t max_scored_rows);

  // Finds the sequence, among those that run or wait before `sequence`, whose prompt begins most
  // like its own: it may be worth waiting for.
  void find_leader(Sequence& sequence, const SequenceLists& lists) const;
  // The state before a step. `admitting`: of the plan before. Valid until the next call.
  const ScheduleSnapshot& take(const SequenceLists& lists, const StepCost& cost, bool admitting,
                               int64_t now_ns);
  // A step with these rows was computed.
  void computed(bool has_prompts, bool has_streams);

 private:
  SequenceView view_of(const Sequence& sequence, int64_t now_ns) const;
  SequenceView running_view(Sequence& sequence, int64_t now_ns) const;
  SequenceView waiting_view(Sequence& sequence, const SequenceLists& lists, int64_t now_ns);
  static void set_leader(const Sequence& sequence, const SequenceLists& lists, SequenceView& view);

  const PagePool* pool_;
  PrefixCache* prefixes_;
  TenantLedger* tenants_;
  int64_t max_scored_rows_;
  ScheduleSnapshot snapshot_;
};

}  // namespace ruv
