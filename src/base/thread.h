// Threads and locks: the standard ones where the system has threads, else those of no_threads.h.
#pragma once

#if defined(__wasi__)
#include "base/portable/no_threads.h"
#else
#include <condition_variable>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace ruv {

// Whether start_thread can succeed at all.
inline constexpr bool kHasThreads = true;
// Mutex and Condition are used through Lock alone, so that a system without threads can do without.
using Mutex = std::mutex;
using Condition = std::condition_variable;
// Holds a Mutex while it lives, or until unlock().
using Lock = std::unique_lock<std::mutex>;
// One thread of execution; must be joined before it is destroyed.
using Thread = std::thread;

// Offers the core to another thread.
inline void yield_thread() { std::this_thread::yield(); }

// Starts a thread that calls f. False: the system gives no more threads; `thread` is as before.
template <class F>
bool start_thread(Thread& thread, F f) {
#if defined(__cpp_exceptions)
  try {
    thread = Thread(std::move(f));
  } catch (const std::system_error&) {
    return false;
  }
#else
  thread = Thread(std::move(f));
#endif
  return true;
}

// A result that may still be computed; get() waits for it.
template <class T>
using Pending = std::future<T>;
// Calls f beside the caller.
template <class F>
auto run_beside(F f) {
  return std::async(std::launch::async, std::move(f));
}

}  // namespace ruv
#endif
