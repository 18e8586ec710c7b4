// BatchEngine: the loop behind Engine. One thread owns all sequences; other threads reach it
// through a locked list of new requests and cancels.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "engine/executor.h"
#include "engine/schedule.h"
#include "engine/sequence.h"

namespace ruv {

class BatchEngine final : public Engine {
 public:
  BatchEngine(std::shared_ptr<const Model> model, const EngineOptions& options,
              std::unique_ptr<Executor> executor);
  ~BatchEngine() override;

  Result<RequestId> submit(Request request) override;
  void cancel(RequestId id) override;
  Load load() const override;
  const Model& model() const override { return *model_; }
  int64_t n_ctx() const override { return options_.n_ctx; }

 private:
  void run();
  bool intake();  // false: nothing to do
  void step();
  void apply(const StepPlan& plan);
  void pack(const StepPlan& plan);
  void advance(const StepPlan& plan, View logits);
  Status check(const Request& request) const;
  HealedPrompt healed(const Request& request);
  void publish_load();

  std::shared_ptr<const Model> model_;
  EngineOptions options_;
  SteadyClock clock_;
  std::unique_ptr<Executor> executor_;
  PagePool pool_;
  std::once_flag prefixes_once_;
  std::unique_ptr<const TokenPrefixes> prefixes_;  // made for the first request that heals

  // Owned by the engine thread.
  std::vector<std::unique_ptr<Sequence>> running_;  // oldest first
  std::deque<std::unique_ptr<Sequence>> waiting_;   // next first
  ScheduleSnapshot snapshot_;
  StepPlan plan_;
  Batch batch_;
  int64_t n_steps_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::unique_ptr<Sequence>> arrived_;
  std::vector<RequestId> cancelled_;
  Load load_;
  RequestId next_id_ = 1;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ruv
