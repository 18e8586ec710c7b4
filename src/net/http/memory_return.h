// MemoryReturn: gives back to the system what large requests have left in the C library's heap,
// once for all that end within half a second, and not on the network thread.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>

#include "base/freed_memory.h"
#include "net/http/workers.h"

namespace ruv {

// Network thread. Workers and io outlive it.
class MemoryReturn {
 public:
  MemoryReturn(boost::asio::io_context& io, Workers& workers) : timer_(io), workers_(workers) {}

  // A request has ended that had so long a body.
  void note_ended(uint64_t n_body_bytes) {
    if (n_body_bytes < kLargeBody || waiting_ || stopped_) return;
    waiting_ = true;
    timer_.expires_after(kDelay);
    timer_.async_wait([this](const boost::system::error_code& error) {
      waiting_ = false;
      if (!error) workers_.post(return_freed_memory);
    });
  }
  void stop() {
    stopped_ = true;
    timer_.cancel();
  }

 private:
  static constexpr uint64_t kLargeBody = 512 << 10;
  static constexpr std::chrono::milliseconds kDelay{500};

  boost::asio::steady_timer timer_;
  Workers& workers_;
  bool waiting_ = false;
  bool stopped_ = false;
};

}  // namespace ruv
