// Workers: the threads that run the routes which parse, in the order of arrival. Shutting down does
// not wait for a job that never returns.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ruv {

class Workers {
 public:
  // Without threads, jobs run where run_one() is called.
  explicit Workers(int n_threads);
  // Joins the threads, however long that takes: see finish().
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // May be called from any thread. An exception in `job` is dropped.
  void post(std::function<void()> job);
  // Runs the oldest waiting job in the calling thread. False: none waits.
  bool run_one();
  // Drops the jobs that have not begun and waits for the others until `deadline`. False: some are
  // still running.
  bool finish(std::chrono::steady_clock::time_point deadline);

 private:
  // The loop of a worker thread.
  void work();
  // Unlocks meanwhile. Requires: a job waits.
  void run_first(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;  // guards all below
  std::condition_variable wake_;
  std::condition_variable done_;
  std::deque<std::function<void()>> jobs_;
  int n_running_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ruv
