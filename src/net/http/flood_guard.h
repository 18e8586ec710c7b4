// FloodGuard: how much a client may do over a connection that costs the server work and the client
// nothing, such as resetting what it has asked for. A number of such acts may come at once; more
// are allowed as time passes and as answers are sent, which clients acknowledge.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace ruv {

class FloodGuard {
 public:
  using Clock = std::chrono::steady_clock;

  explicit FloodGuard(Clock::time_point now) : seen_(now) {}

  // False: too much.
  bool charge(int64_t cost, Clock::time_point now) {
    const auto ticks = (now - seen_) / kTick;
    seen_ += ticks * kTick;
    left_ = std::min<int64_t>(left_ + ticks, kBurst) - cost;
    return left_ >= 0;
  }
  void credit(int64_t n) { left_ = std::min(left_ + n, kBurst); }

 private:
  static constexpr int64_t kBurst = 1000;
  static constexpr std::chrono::milliseconds kTick{10};

  int64_t left_ = kBurst;
  Clock::time_point seen_;
};

}  // namespace ruv
