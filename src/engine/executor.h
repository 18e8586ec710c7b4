// Executor: the resources with which an engine computes: threads, pages, operations and
// activations, sized once so that a step allocates nothing. An interface, so that simulation can
// decide the results of steps.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "device/kv_pages.h"
#include "model/decoder.h"
#include "model/draft_head.h"

namespace ruv {

struct ExecutorLimits {
  int n_threads = 0;  // 0: one per core
  int64_t n_pages = 0;
  std::optional<FrameLimits> frames = {};  // of windows and tails; unset: each page has its own
  int64_t max_rows = 0;
  int64_t max_outputs = 0;
  int64_t max_rank = 0;  // of adapters; 0: steps have none
  int64_t n_ctx = 0;     // longest sequence
  KvType kv_type = KvType::f16;
};

// What a step gives, for the host to read and change; valid until the next step.
struct StepResult {
  HostRows logits;  // (logit_rows, n_vocab)
  HostRows hidden;  // (hidden_rows, n_embd), after the last norm
};

// Work of the host that needs no result of a step: f(0) … f(n - 1), in any order, on any threads. f
// must not throw.
struct HostWork {
  int64_t n = 0;
  std::function<void(int64_t)> f;
};

class Executor {
 public:
  // An executor on this machine's CPU. The model must outlive it. Fails: out_of_memory.
  static Result<std::unique_ptr<Executor>> create(const Model& model, const ExecutorLimits& limits);

  virtual ~Executor() = default;
  // Computes a step; the result is valid until the next call. Nothing if `stop` became true before
  // the end.
  virtual std::optional<StepResult> run(const Batch& batch, const StopFlag& stop) = 0;
  // The same, with work that is done when it returns. All threads share the work, then the step;
  // where another device computes, the host works after giving it the step.
  virtual std::optional<StepResult> run(const Batch& batch, const StopFlag& stop,
                                        const HostWork& beside) {
    each(beside.n, [&](int, int64_t i) { beside.f(i); });
    return run(batch, stop);
  }
  // Computes a step of the model's drafting head after the last one, its own or the model's, and
  // gives its logits, valid until the next call of either. Requires: the model has a head.
  virtual HostRows run_head(const HeadStep& /*step*/) { return {}; }
  virtual KvPages& pages() = 0;
  // Calls f(thread, 0) … f(thread, n - 1), on several threads if there are, thread < n_threads(),
  // and returns when all are done. f must not throw.
  virtual void each(int64_t n, const std::function<void(int, int64_t)>& f) {
    for (int64_t i = 0; i < n; ++i) f(0, i);
  }
  virtual int n_threads() const { return 1; }

  // Computes a step that cannot be stopped.
  StepResult run(const Batch& batch) {
    static const StopFlag kNever{false};
    return *run(batch, kNever);
  }
};

}  // namespace ruv
