// EngineCore: what an engine does, step by step, on one thread: which sequences run, what of them
// is cached, which tokens come out. It has no thread and no clock of its own, so that simulation
// drives the same code.
#pragma once

#include <span>

#include "base/clock.h"
#include "engine/draft_verifier.h"
#include "engine/engine_parts.h"
#include "engine/schedule_input.h"
#include "engine/step_packer.h"

namespace ruv {

class EngineCore {
 public:
  // The most draft rows in one step, over all sequences; buffers for logits are sized for them.
  static constexpr int64_t kMaxDraftRows = 64;

  // `model` and `clock` must outlive the core. Requires: options are complete (no zeros that mean a
  // default).
  EngineCore(const Model& model, const EngineOptions& options, const Clock& clock,
             EngineParts parts);

  // Makes the sequence of a request that passed Engine::submit's checks. May be called from any
  // thread.
  std::unique_ptr<Sequence> make_sequence(RequestId id, Request request);

  void add(std::unique_ptr<Sequence> sequence);
  // Ends the known ones among these with `cancelled`.
  void cancel(std::span<const RequestId> ids);
  void cancel_all();
  // Whether step() has something to do now. Sequences that are being restored from disk do not
  // count until their deadline.
  bool has_work() const {
    return !lists_.running.empty() || !lists_.waiting.empty() || prefixes_.has_results() ||
           ms_to_deadline() == 0;
  }
  // Milliseconds until the earliest deadline among sequences being restored from disk; 0 if passed,
  // -1 if none. step() looks at all other deadlines itself.
  int64_t ms_to_deadline() const;
  // `on_result` is called on another thread when a result from the disk makes has_work() true.
  void set_on_result(const std::function<void()>& on_result) { prefixes_.set_on_result(on_result); }

  // Plans one step and computes it. If `stop` becomes true meanwhile it may end early, with no
  // effect. False: there was nothing to compute.
  //
  // Out of memory: neither this function nor add and cancel throw std::bad_alloc. What only saves
  // work (cached prefixes, drafts, disk I/O) is skipped. A sequence that cannot get a page or store
  // its next token ends with out_of_memory, and the others of the step continue. If the plan itself
  // has no room, nothing is computed and the youngest sequence ends, so that each try has more room
  // than the one before. At all times a sequence is in exactly one list, or its last event has been
  // sent and its pages are released; pool, tree and ledger agree; and the bytes of the surviving
  // sequences are unaffected.
  bool step(const StopFlag& stop);
  // The most draft rows in one step of a model whose cache is laid out so. Each has a running state
  // of its own; together they have at most 256 MiB.
  static int64_t draft_rows(const CacheLayout& layout);
  // What steps of an engine with these options need of windows, tails and states.
  static FrameLimits frames_for_steps(const EngineOptions& options, const CacheLayout& layout = {});
  // Requests in prefill in this step; cancelling one of them may abort the step. Called by step()
  // before it computes.
  std::function<void(std::span<const RequestId>)> on_prompts;

  Engine::Load load() const;
  KvCacheStats kv_stats() const;
  SpeculativeStats speculative_stats() const { return speculator_.stats(); }
  const MaskTimes& mask_times() const { return verifier_.mask_times(); }
  const PagePool& pages() const { return pool_; }
  const PrefixCache& prefixes() const { return prefixes_; }

  // Whether pages, tree and sequences agree. For tests and simulation; O(everything).
  bool consistent() const;

 private:
  bool plan_and_compute(const StopFlag& stop);
  bool model_is_lost();
  void give_up(Sequence& sequence);
  void give_up_youngest();
  void guess();
  void take_results();
  void expire_restoring(int64_t now_ns);
  void end_late(Sequence& sequence);
  void apply(int64_t now_ns);
  void end(Sequence& sequence, FinishReason reason, const Status& status);
  void preempt(std::unique_ptr<Sequence>& sequence, int64_t now_ns);
  void shift_full_ones(int64_t now_ns);
  void start(Sequence& sequence, int64_t now_ns);
  void pack();
  void erase_finished();
  void advance(const StepResult& result, int64_t start_ns, int64_t run_ns);
  void report_hidden(Sequence& sequence, int64_t now_ns);
  double read_by_head();

  const Model* model_;
  EngineOptions options_;
  const Clock* clock_;
  std::unique_ptr<Executor> executor_;
  std::vector<PageFrames> frames_;  // of the groups that do not keep every page
  PagePool pool_;
  PrefixCache prefixes_;
  TenantLedger tenants_;
  StepTimer timer_;
  HeadDrafter head_;
  Speculator speculator_;  // before the sequences: their drafts refer to it
  ScheduleInput input_;
  StepPacker packer_;
  DraftVerifier verifier_;
  SequenceLists lists_;
  StepPlan plan_;
  std::vector<Sequence*> planned_;  // by the plan's indexes; null: did not start
  int64_t n_steps_ = 0;
  int64_t n_preemptions_ = 0;
  bool told_of_loss_ = false;
};

// Why the model can no longer be used, for clients: its device failed, or a file of it was cut,
// which is named without its folder; ok while all is well. May be called from any thread.
Status check_usable(const Model& model, const EngineOptions& options);

}  // namespace ruv
