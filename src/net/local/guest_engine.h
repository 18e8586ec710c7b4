// GuestEngine: an engine that others use, too, for a server that ends before it. When this
// is destroyed, none of its requests runs any more and none of their events is on its way.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>

#include "ruv/engine.h"

namespace ruv {

class GuestEngine final : public Engine {
 public:
  // The engine must outlive this.
  explicit GuestEngine(Engine& engine) : engine_(engine) {}
  // Cancels the requests that are open and waits for their ends. Not on the engine's thread.
  ~GuestEngine() override;

  Result<RequestId> submit(Request request) override;
  void cancel(RequestId id) override { engine_.cancel(id); }
  Result<std::shared_ptr<const LoadedForm>> load_form(const AnswerForm& form) override {
    return engine_.load_form(form);
  }
  Load load() const override { return engine_.load(); }
  KvCacheStats kv_stats() const override { return engine_.kv_stats(); }
  SpeculativeStats speculative_stats() const override { return engine_.speculative_stats(); }
  MaskTimes mask_times() const override { return engine_.mask_times(); }
  const Model& model() const override { return engine_.model(); }
  int64_t n_ctx() const override { return engine_.n_ctx(); }
  Status condition() const override { return engine_.condition(); }

 private:
  struct Guest;
  void leave(const Guest& guest);

  Engine& engine_;
  std::mutex mutex_;  // guards guests_ and what they hold
  std::condition_variable wake_;
  std::set<std::shared_ptr<Guest>> guests_;  // requests without an end
};

}  // namespace ruv
