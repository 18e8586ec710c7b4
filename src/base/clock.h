// Clock: code receives time through this interface, so that tests and simulation decide what time
// it is.
#pragma once

#include <chrono>
#include <cstdint>

namespace ruv {

class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds of a monotonic clock with an arbitrary start.
  virtual int64_t now_ns() const = 0;
};

// Seconds of the wall clock since 1970 in UTC. It may jump: measure with a Clock.
inline int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The system's monotonic clock.
class SteadyClock final : public Clock {
 public:
  int64_t now_ns() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace ruv
