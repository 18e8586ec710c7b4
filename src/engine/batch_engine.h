// BatchEngine: the implementation of Engine with a thread of its own. That thread alone uses the
// EngineCore; other threads reach it through locked lists of new requests and cancels.
#pragma once

#include "base/once.h"
#include "base/thread.h"
#include "engine/engine_core.h"
#include "engine/form_store.h"

namespace ruv {

class BatchEngine final : public Engine {
 public:
  // Requires: options are complete.
  BatchEngine(std::shared_ptr<const Model> model, const EngineOptions& options, EngineParts parts,
              std::shared_ptr<const Clock> clock = std::make_shared<SteadyClock>());
  ~BatchEngine() override;

  Result<RequestId> submit(Request request) override;
  void cancel(RequestId id) override;
  Load load() const override;
  KvCacheStats kv_stats() const override;
  SpeculativeStats speculative_stats() const override;
  MaskTimes mask_times() const override;
  const Model& model() const override { return *model_; }
  int64_t n_ctx() const override { return options_.n_ctx; }
  Status condition() const override { return check_usable(*model_, options_); }
  Result<std::shared_ptr<const LoadedForm>> load_form(const AnswerForm& form) override;

 private:
  // The loop of the engine thread.
  void run();
  bool intake();  // false: it is time to stop
  // Copies the counters for load() and the like.
  void publish();
  // The checks of submit().
  Status check(const Request& request) const;
  Status check_media_of(const Request& request) const;
  // What an encoder cannot do; and the length of its text, or of a prompt.
  Status check_encoder(const Request& request) const;
  Status check_length(const Request& request) const;
  Status check_reasoning(const ReasoningRegion& region) const;
  Status check_scores(const Request& request) const;
  // Applies token healing if the request asks for it.
  HealedPrompt healed(const Request& request);
  Result<RequestId> take(Request request);

  std::shared_ptr<const Model> model_;
  EngineOptions options_;
  std::shared_ptr<const Clock> clock_;
  FormStore forms_;
  std::vector<Token> end_tokens_;
  EngineCore core_;  // the engine thread's, but for make_sequence
  Once prefixes_once_;
  std::unique_ptr<const TokenPrefixes> prefixes_;  // made for the first request that heals
  StopFlag stop_step_{false};

  mutable Mutex mutex_;
  Condition wake_;
  std::vector<std::unique_ptr<Sequence>> arrived_;
  std::vector<RequestId> cancelled_;
  std::vector<RequestId> in_prompt_;  // of the step that is computed now; never grows
  Load load_;
  int64_t n_refused_ = 0;
  KvCacheStats kv_stats_;
  SpeculativeStats speculative_stats_;
  MaskTimes mask_times_;
  RequestId next_id_ = 1;
  bool stopping_ = false;
  Thread thread_;
};

}  // namespace ruv
