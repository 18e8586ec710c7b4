// MemoryReturn: returns memory that large requests left in the C library's heap to the system, once
// for all requests that end within half a second, and on a worker thread.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>

#include "base/freed_memory.h"
#include "net/http/workers.h"

namespace ruv {

// Used on the network thread. Workers and io must outlive it.
class MemoryReturn {
 public:
  MemoryReturn(boost::asio::io_context& io, Workers& workers) : timer_(io), workers_(workers) {}

  // Reports that a request with a body of this size has ended.
  void note_ended(uint64_t n_body_bytes) {
    if (n_body_bytes < kLargeBody || waiting_ || stopped_) return;
    waiting_ = true;
    timer_.expires_after(kDelay);
    timer_.async_wait([this](const boost::system::error_code& error) {
      waiting_ = false;
      if (!error) workers_.post(return_freed_memory);
    });
  }
  // Cancels the timer; nothing is returned from now on.
  void stop() {
    stopped_ = true;
    timer_.cancel();
  }

 private:
  // Requests with smaller bodies are not counted.
  static constexpr uint64_t kLargeBody = 512 << 10;
  static constexpr std::chrono::milliseconds kDelay{500};

  // Runs while an end has been noted and memory was not returned yet.
  boost::asio::steady_timer timer_;
  Workers& workers_;
  bool waiting_ = false;
  bool stopped_ = false;
};

}  // namespace ruv
