#include "net/http/workers.h"

#include <exception>

namespace ruv {

Workers::Workers(int n_threads) {
  for (int i = 0; i < n_threads; ++i) threads_.emplace_back([this] { work(); });
}

Workers::~Workers() {
  finish(std::chrono::steady_clock::now());
  for (std::thread& thread : threads_) thread.join();
}

// Jobs that come after finish() are dropped.
void Workers::post(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
}

bool Workers::finish(std::chrono::steady_clock::time_point deadline) {
  std::deque<std::function<void()>> dropped;  // destroyed without the lock
  std::unique_lock lock(mutex_);
  stopping_ = true;
  dropped.swap(jobs_);
  wake_.notify_all();
  return done_.wait_until(lock, deadline, [this] { return n_running_ == 0; });
}

void Workers::run_first(std::unique_lock<std::mutex>& lock) {
  std::function<void()> job = std::move(jobs_.front());
  jobs_.pop_front();
  ++n_running_;
  lock.unlock();
  try {
    job();
  } catch (const std::exception&) {
    // Routes answer what they throw; what is left is memory that ran out while they did.
  }
  job = nullptr;  // what it holds goes before the job counts as done
  lock.lock();
  if (--n_running_ == 0) done_.notify_all();
}

bool Workers::run_one() {
  std::unique_lock lock(mutex_);
  if (jobs_.empty()) return false;
  run_first(lock);
  return true;
}

void Workers::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    run_first(lock);
  }
}

}  // namespace ruv
