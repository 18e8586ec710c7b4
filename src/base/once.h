// Once: runs a function at the first call from any thread. std::call_once would let an exception
// pass through the C library, whose unwinder allocates when it is first used: a process without
// memory would end there.
#pragma once

#include <atomic>

#include "base/thread.h"

namespace ruv {

class Once {
 public:
  // Calls f unless an earlier call has returned; other threads wait meanwhile. If f throws, the
  // next caller runs it again, so f must not leave half of its result. f must not call run().
  template <class F>
  void run(F&& f) {
    if (is_done_.load(std::memory_order_acquire)) return;
    const Lock lock(mutex_);
    if (is_done_.load(std::memory_order_relaxed)) return;
    f();
    is_done_.store(true, std::memory_order_release);
  }

 private:
  Mutex mutex_;
  std::atomic<bool> is_done_{false};
};

}  // namespace ruv
