// Threads and locks where the system has no threads: locks do nothing, no thread starts, and work
// that would run beside the caller runs in it. Code that needs more asks kHasThreads.
#pragma once

#include <chrono>
#include <mutex>  // std::call_once, which needs no threads
#include <optional>
#include <utility>

#include "base/check.h"

namespace ruv {

inline constexpr bool kHasThreads = false;

class Mutex {};

class Lock {
 public:
  explicit Lock(Mutex&) {}
  void lock() {}
  void unlock() {}
};

// There is no other thread that could change what is waited for: it is so already, or never.
class Condition {
 public:
  void notify_one() {}
  void notify_all() {}
  template <class F>
  void wait(Lock&, const F& holds) {
    CHECK(holds());
  }
  template <class F>
  bool wait_for(Lock&, std::chrono::milliseconds, const F& holds) {
    return holds();
  }
};

class Thread {
 public:
  void join() {}
  bool joinable() const { return false; }
};

inline void yield_thread() {}

template <class F>
bool start_thread(Thread&, const F&) {
  return false;
}

template <class T>
class Pending {
 public:
  Pending() = default;
  explicit Pending(T value) : value_(std::move(value)) {}
  bool valid() const { return value_.has_value(); }
  T get() { return *std::exchange(value_, std::nullopt); }

 private:
  std::optional<T> value_;
};

template <class F>
auto run_beside(F f) {
  return Pending(f());
}

}  // namespace ruv
