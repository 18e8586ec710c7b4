// What the library does when memory runs out: the only place that catches std::bad_alloc, by which
// standard containers report it. A caller that can continue without the memory calls
// try_allocating; a change of several steps takes the earlier ones back by Undo.
#pragma once

#include <cstdlib>
#include <new>
#include <utility>

namespace ruv {

// Calls f. False: memory ran out in it; its own objects are destroyed, what it changed elsewhere
// stays changed. A build without exceptions has no such report: there the process ends instead.
template <class F>
bool try_allocating(F&& f) {
#if defined(__cpp_exceptions)
  try {
    std::forward<F>(f)();
  } catch (const std::bad_alloc&) {
    return false;
  }
#else
  std::forward<F>(f)();
#endif
  return true;
}

// Reports that memory ran out, as `new` does. Without exceptions it ends the process.
[[noreturn]] inline void throw_out_of_memory() {
#if defined(__cpp_exceptions)
  throw std::bad_alloc();
#else
  std::abort();
#endif
}

// Calls f when it is destroyed, unless keep() was called before: for taking back a step when a
// later one of the same change fails. f allocates nothing.
template <class F>
class [[nodiscard]] Undo {
 public:
  // Armed from the start.
  explicit Undo(F f) : f_(std::move(f)) {}
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  ~Undo() {
    if (armed_) f_();
  }
  // The step stays: f will not be called.
  void keep() { armed_ = false; }

 private:
  F f_;
  bool armed_ = true;
};

}  // namespace ruv
