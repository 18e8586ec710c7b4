#include "engine/executor.h"

#include <algorithm>

namespace ruv {

Result<std::unique_ptr<Executor>> Executor::create(const Model& model,
                                                   const ExecutorLimits& limits) {
  KvShape shape = model.kv_shape();
  shape.type = limits.kv_type;
  KvPages pages = TRY(KvPages::create(shape, limits.n_pages));
  Activations activations = TRY(Activations::create(model, limits.max_rows, limits.max_outputs));
  std::unique_ptr<Executor> executor(
      new Executor(model, limits, std::move(pages), std::move(activations)));
  const HParams& h = model.h;
  executor->ops_ =
      TRY(CpuOps::create(*model.kernels, executor->pool_, executor->pages_,
                         {.max_rows = std::max(limits.max_rows, limits.max_outputs),
                          .max_k = std::max({h.n_embd, h.n_ff, h.n_heads * h.head_dim}),
                          .max_head_dim = h.head_dim,
                          .max_group = h.n_heads / h.n_kv_heads}));
  return executor;
}

}  // namespace ruv
