// AuditedEngine: an engine whose answers an audit log notes when they end.
#pragma once

#include "audit/audit_log.h"
#include "ruv/engine.h"

namespace ruv {

class AuditedEngine final : public Engine {
 public:
  // `usual`: the adapters of requests that do not say which. The log must outlive this.
  AuditedEngine(std::unique_ptr<Engine> engine, AnsweringEngine about,
                std::vector<AdapterUse> usual, AuditLog& log)
      : about_(std::make_shared<AnsweringEngine>(std::move(about))),
        usual_(std::move(usual)),
        log_(log),
        engine_(std::move(engine)) {}

  Result<RequestId> submit(Request request) override;
  void cancel(RequestId id) override { engine_->cancel(id); }
  Result<std::shared_ptr<const LoadedForm>> load_form(const AnswerForm& form) override {
    return engine_->load_form(form);
  }
  Load load() const override { return engine_->load(); }
  KvCacheStats kv_stats() const override { return engine_->kv_stats(); }
  SpeculativeStats speculative_stats() const override { return engine_->speculative_stats(); }
  MaskTimes mask_times() const override { return engine_->mask_times(); }
  const Model& model() const override { return engine_->model(); }
  int64_t n_ctx() const override { return engine_->n_ctx(); }
  Status condition() const override { return engine_->condition(); }

 private:
  struct Witness;

  std::shared_ptr<const AnsweringEngine> about_;
  const std::vector<AdapterUse> usual_;
  AuditLog& log_;
  std::unique_ptr<Engine> engine_;  // ends before what its requests use
};

}  // namespace ruv
