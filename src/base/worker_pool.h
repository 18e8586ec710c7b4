// WorkerPool: a fixed team of threads that runs one function for each of them and waits. Workers
// spin for a moment, then sleep, so that steps of microseconds pay no wake-up and idle costs
// nothing. No run waits for a worker that has no core at the moment: its part is done by the
// caller.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/range.h"
#include "base/thread.h"

namespace ruv {

class WorkerPool {
 public:
  // n_threads counts the caller; 0 means one per core the process may use. Where the system starts
  // fewer, n_threads() tells: 1 where it has none.
  explicit WorkerPool(int n_threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int n_threads() const { return n_threads_; }

  // Calls f(index) once for each index in [0, n_threads()) and returns when all are done. 0 is the
  // caller's, the others belong to a worker each, but where a worker does not begin in time the
  // caller does its part as well: f must not wait for another index. One run at a time; f must not
  // call run.
  template <class F>
  void run(F&& f) {
    run_erased([](void* g, int index) { (*static_cast<std::remove_reference_t<F>*>(g))(index); },
               const_cast<void*>(static_cast<const void*>(&f)));
  }

  // Calls f(thread_index, item) once for every item of [0, n); whichever thread is free takes the
  // next one. Otherwise as run.
  template <class F>
  void run_items(int64_t n, F&& f) {
    std::atomic<int64_t> next{0};
    run([&](int thread) {
      const auto take = [&] { return next.fetch_add(1, std::memory_order_relaxed); };
      for (int64_t item = take(); item < n; item = take()) f(thread, item);
    });
  }

 private:
  using Task = void (*)(void*, int);
  // The round in which an index was taken last. The thread that advances it does that index's part.
  struct alignas(64) Turn {
    std::atomic<uint32_t> round{0};
  };

  void run_erased(Task task, void* context);
  void work(int index);
  bool take(int index, uint32_t round);

  int n_threads_;
  Task task_ = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<uint32_t> round_{0};
  alignas(64) std::atomic<int> running_{0};
  std::atomic<bool> stopping_{false};
  std::vector<Turn> turns_;  // of index 1 and on
  std::vector<Thread> workers_;
};

}  // namespace ruv
