// For tests: an engine on whose clock each step takes the same time, however many rows it has, so
// that what the real machine's noise would decide is sure: guessing ahead always promises to gain.
#pragma once

#include <gtest/gtest.h>

#include <atomic>

#include "engine/batch_engine.h"

namespace ruv {

class StepClock final : public Clock {
 public:
  int64_t now_ns() const override { return n_steps_ * kStepNs; }
  void advance() { ++n_steps_; }

 private:
  static constexpr int64_t kStepNs = 1'000'000'000;
  std::atomic<int64_t> n_steps_ = 1;
};

class EqualStepsExecutor final : public Executor {
 public:
  EqualStepsExecutor(std::unique_ptr<Executor> real, std::shared_ptr<StepClock> clock)
      : real_(std::move(real)), clock_(std::move(clock)) {}

  std::optional<StepResult> run(const Batch& batch, const StopFlag& stop) override {
    clock_->advance();
    return real_->run(batch, stop);
  }
  // It takes no time on this clock.
  HostRows run_head(const HeadStep& step) override { return real_->run_head(step); }
  KvPages& pages() override { return real_->pages(); }
  void each(int64_t n, const std::function<void(int, int64_t)>& f) override { real_->each(n, f); }
  int n_threads() const override { return real_->n_threads(); }

 private:
  std::unique_ptr<Executor> real_;
  std::shared_ptr<StepClock> clock_;
};

inline std::unique_ptr<Engine> equal_steps_engine(const std::shared_ptr<const Model>& model,
                                                  const EngineOptions& options) {
  const auto complete = complete_options(options, *model);
  EXPECT_TRUE(complete.has_value()) << complete.error().message();
  auto parts = make_parts(*model, *complete);
  EXPECT_TRUE(parts.has_value()) << parts.error().message();
  const auto clock = std::make_shared<StepClock>();
  parts->executor = std::make_unique<EqualStepsExecutor>(std::move(parts->executor), clock);
  return std::make_unique<BatchEngine>(model, *complete, std::move(*parts), clock);
}

}  // namespace ruv
