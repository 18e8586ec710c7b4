// Cancellation: one flag that a caller raises and that work in progress hears of at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>

#include "base/thread.h"

namespace ruv {

// Thread safety: any function from any thread. Must outlive its watches.
class Cancellation {
 public:
  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  // Raises the flag and calls every watch, once. Watches must not block, nor use this object.
  void cancel();
  bool is_cancelled() const { return cancelled_.load(std::memory_order_acquire); }

  // Calls `wake` when the flag is raised, or now if it is; never after its destructor.
  class Watch {
   public:
    Watch(const Cancellation& of, std::function<void()> wake);
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch();

   private:
    const Cancellation& of_;
    uint64_t id_ = 0;
  };

 private:
  mutable Mutex mutex_;
  std::atomic<bool> cancelled_{false};
  mutable uint64_t next_id_ = 0;
  mutable std::map<uint64_t, std::function<void()>> watches_;
};

}  // namespace ruv
