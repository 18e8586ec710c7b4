#include "engine/executor.h"

#include <algorithm>

#include "base/worker_pool.h"
#include "device/ops.h"

namespace ruv {
namespace {

// The executor of a loaded model on its device.
class ModelExecutor final : public Executor {
 public:
  ModelExecutor(const Model& model, const ExecutorLimits& limits, KvPages pages,
                Activations activations)
      : model_(&model),
        n_ctx_(limits.n_ctx),
        pool_(limits.n_threads),
        pages_(std::move(pages)),
        activations_(std::move(activations)) {}

  Status make_ops(const ExecutorLimits& limits) {
    const HParams& h = model_->h;
    const int64_t max_rows = std::max(limits.max_rows, limits.max_outputs);
    ops_ = TRY(
        model_->device->make_ops(pool_, pages_, ops_limits(*model_, max_rows, limits.max_rank)));
    if (model_->device->shares_memory()) return {};
    logits_.resize(static_cast<size_t>(limits.max_outputs * h.n_vocab));
    hidden_.resize(static_cast<size_t>(limits.max_rows * h.n_embd));
    return {};
  }
  std::optional<StepResult> run(const Batch& batch, const StopFlag& stop) override {
    return run(batch, stop, {});
  }
  std::optional<StepResult> run(const Batch& batch, const StopFlag& stop,
                                const HostWork& beside) override {
    const bool computes_here = model_->device->shares_memory();
    if (computes_here) work(beside);
    const auto output = decode(*ops_, *model_, batch, activations_, n_ctx_, &stop);
    if (!computes_here) work(beside);  // the device has the step; rows() below waits for it
    if (!output) return std::nullopt;
    return StepResult{model_->device->rows(output->logits, logits_),
                      model_->device->rows(output->hidden, hidden_)};
  }
  HostRows run_head(const HeadStep& step) override {
    const View logits = decode_head(*ops_, *model_, step, activations_, n_ctx_);
    return model_->device->rows(logits, logits_);
  }
  KvPages& pages() override { return pages_; }
  void each(int64_t n, const std::function<void(int, int64_t)>& f) override {
    pool_.run_items(n, f);
  }
  int n_threads() const override { return pool_.n_threads(); }

 private:
  void work(const HostWork& beside) {
    each(beside.n, [&](int, int64_t i) { beside.f(i); });
  }

  const Model* model_;
  int64_t n_ctx_;
  WorkerPool pool_;
  KvPages pages_;
  Activations activations_;
  std::unique_ptr<Ops> ops_;
  std::vector<float> logits_, hidden_;  // on the host, of devices that do not share its memory
};

}  // namespace

// All buffers are allocated here; a step allocates nothing.
Result<std::unique_ptr<Executor>> Executor::create(const Model& model,
                                                   const ExecutorLimits& limits) {
  const CacheLayout layout =
      model.cache_layout().with_type(limits.kv_type).for_context(limits.n_ctx);
  KvPages pages = TRY(KvPages::create(layout, limits.n_pages, limits.frames, model.device));
  Activations activations =
      TRY(Activations::create(model, limits.max_rows, limits.max_outputs, limits.max_rank));
  auto executor =
      std::make_unique<ModelExecutor>(model, limits, std::move(pages), std::move(activations));
  TRY(executor->make_ops(limits));
  return executor;
}

}  // namespace ruv
