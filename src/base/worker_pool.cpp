#include "base/worker_pool.h"

#include "base/machine.h"

namespace ruv {
namespace {

// About 100 µs of spinning: longer than the gap between two operations of a step, shorter than
// anyone notices on an idle machine. Between bursts the core is offered to others: where threads
// outnumber cores, the awaited thread may need it.
constexpr int kBursts = 64;
constexpr int kPausesPerBurst = 64;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `value` differs from `old`: first spinning, then asleep.
template <class T>
void wait_while(const std::atomic<T>& value, T old) {
  for (int burst = 0; burst < kBursts; ++burst) {
    for (int i = 0; i < kPausesPerBurst; ++i) {
      if (value.load(std::memory_order_acquire) != old) return;
      relax();
    }
    yield_thread();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

}  // namespace

WorkerPool::WorkerPool(int n_threads)
    : n_threads_(n_threads > 0 ? n_threads : available_cores()),
      turns_(static_cast<size_t>(n_threads_ - 1)) {
  workers_.reserve(static_cast<size_t>(n_threads_ - 1));
  for (int i = 1; i < n_threads_; ++i) {
    Thread worker;
    if (!start_thread(worker, [this, i] { work(i); }))
      n_threads_ = i;
    else
      workers_.push_back(std::move(worker));
  }
}

WorkerPool::~WorkerPool() {
  stopping_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (Thread& worker : workers_) worker.join();
}

// The task stays as it is until every index of its round was taken and done, so the thread that
// takes one may read it.
bool WorkerPool::take(int index, uint32_t round) {
  uint32_t before = round - 1;
  return turns_[static_cast<size_t>(index - 1)].round.compare_exchange_strong(
      before, round, std::memory_order_relaxed);
}

// Starts a round, does the caller's part, then takes parts that no worker has begun.
void WorkerPool::run_erased(Task task, void* context) {
  if (n_threads_ == 1) return task(context, 0);
  task_ = task;
  context_ = context;
  running_.store(n_threads_ - 1, std::memory_order_relaxed);
  const uint32_t round = round_.load(std::memory_order_relaxed) + 1;
  round_.store(round, std::memory_order_release);
  round_.notify_all();
  task(context, 0);
  for (int index = 1; index < n_threads_; ++index) {
    if (!take(index, round)) continue;
    task(context, index);
    running_.fetch_sub(1, std::memory_order_acq_rel);
  }
  for (int left = running_.load(std::memory_order_acquire); left != 0;
       left = running_.load(std::memory_order_acquire)) {
    wait_while(running_, left);
  }
}

// Waits for a round, does its part, repeats.
void WorkerPool::work(int index) {
  uint32_t seen = 0;
  for (;;) {
    wait_while(round_, seen);
    seen = round_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;
    if (!take(index, seen)) continue;
    task_(context_, index);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_all();
  }
}

}  // namespace ruv
