// Threads and locks for systems without threads: locks do nothing, no thread starts, and work that
// would run beside the caller runs in it. Code that cannot work this way tests kHasThreads. The
// interface is that of thread.h, so callers need no conditions of their own.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "base/check.h"

namespace ruv {

inline constexpr bool kHasThreads = false;

// No other thread could hold it.
class Mutex {};

// Holds nothing.
class Lock {
 public:
  explicit Lock(Mutex&) {}
  void lock() {}
  void unlock() {}
};

// There is no other thread that could change what is waited for: it is so already, or never.
class Condition {
 public:
  // No thread is waiting.
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

// Never runs: start_thread refuses.
class Thread {
 public:
  void join() {}
  // There is never anything to join.
  bool joinable() const { return false; }
};

// No other thread wants the core.
inline void yield_thread() {}

// Always false: the caller does the work itself.
template <class F>
bool start_thread(Thread&, const F&) {
  return false;
}

// Holds what run_beside has computed before it returned.
template <class T>
class Pending {
 public:
  Pending() = default;
  explicit Pending(T value) : value_(std::move(value)) {}
  // Whether there is a result that get() has not taken.
  bool valid() const { return value_.has_value(); }
  // Takes the result. Requires: valid().
  T get() { return *std::exchange(value_, std::nullopt); }

 private:
  std::optional<T> value_;
};

template <class F>
auto run_beside(F f) {
  return Pending(f());
}

}  // namespace ruv
