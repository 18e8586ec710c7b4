// Executor: everything one engine computes with: threads, pages, operations and activations, sized
// once, so that a step allocates nothing.
#pragma once

#include <memory>

#include "device/cpu/cpu_ops.h"
#include "model/decoder.h"

namespace ruv {

struct ExecutorLimits {
  int n_threads = 0;  // 0: one per core
  int64_t n_pages = 0;
  int64_t max_rows = 0;
  int64_t max_outputs = 0;
  int64_t n_ctx = 0;  // longest sequence
  KvType kv_type = KvType::f16;
};

class Executor {
 public:
  // The model must outlive it. Fails: out_of_memory.
  static Result<std::unique_ptr<Executor>> create(const Model& model, const ExecutorLimits& limits);

  // Logits (batch.output_rows, n_vocab), valid until the next call.
  View run(const Batch& batch) { return decode(*ops_, *model_, batch, activations_, n_ctx_); }
  const KvPages& pages() const { return pages_; }

 private:
  Executor(const Model& model, const ExecutorLimits& limits, KvPages pages, Activations activations)
      : model_(&model),
        n_ctx_(limits.n_ctx),
        pool_(limits.n_threads),
        pages_(std::move(pages)),
        activations_(std::move(activations)) {}

  const Model* model_;
  int64_t n_ctx_;
  WorkerPool pool_;
  KvPages pages_;
  Activations activations_;
  std::unique_ptr<CpuOps> ops_;
};

}  // namespace ruv
