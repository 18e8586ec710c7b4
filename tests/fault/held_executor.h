// HeldExecutor: holds one step (the first of so many sequences, or a later one of them) until
// somebody stops it, then computes as the real one does.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/executor.h"
#include "fault/patience.h"

namespace ruv {

class HeldExecutor final : public Executor {
 public:
  explicit HeldExecutor(std::unique_ptr<Executor> held) : held_(std::move(held)) {}

  std::optional<StepResult> run(const Batch& batch, const StopFlag& stop) override {
    const bool fits = !held_one_ && std::ssize(batch.sequences) >= n_together_;
    const bool first = fits && n_passing_-- == 0;
    held_one_ |= first;
    if (first) {
      {
        const std::lock_guard lock(mutex_);
        entered_ = true;
        n_rows_ = batch.n_rows();
      }
      entry_.notify_all();
      const auto until = std::chrono::steady_clock::now() + kPatience;
      while (!stop && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    }
    std::optional<StepResult> output = held_->run(batch, stop);
    if (first) {
      const std::lock_guard lock(mutex_);
      aborted_ = !output.has_value();
    }
    return output;
  }
  KvPages& pages() override { return held_->pages(); }
  void each(int64_t n, const std::function<void(int, int64_t)>& f) override { held_->each(n, f); }
  int n_threads() const override { return held_->n_threads(); }

  // Both before the first request.
  void hold_steps_of(int64_t n_sequences) { n_together_ = n_sequences; }
  void let_pass(int64_t n_steps) { n_passing_ = n_steps; }
  int64_t wait_for_entry() {
    std::unique_lock lock(mutex_);
    wait_patiently(entry_, lock, "the step that is held", [&] { return entered_; });
    return n_rows_;
  }
  bool aborted() {
    const std::lock_guard lock(mutex_);
    return aborted_;
  }

 private:
  std::unique_ptr<Executor> held_;
  bool held_one_ = false;
  std::atomic<int64_t> n_together_ = 1;
  std::atomic<int64_t> n_passing_ = 0;
  std::mutex mutex_;
  std::condition_variable entry_;
  bool entered_ = false;
  bool aborted_ = false;
  int64_t n_rows_ = 0;
};

}  // namespace ruv
