// BulkTurns: lets connections that move many bytes take turns, one per poll of the sockets. A short
// request then waits for one of them, not for all.
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

namespace ruv {

// Used on the network thread. Must be destroyed before `io`.
class BulkTurns {
 public:
  explicit BulkTurns(boost::asio::io_context& io) : io_(io) {}

  // Resumes when it is the caller's turn, in the order of the calls.
  boost::asio::awaitable<void> next() {
    co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(
        [this](auto handler) { add(std::move(handler)); }, boost::asio::use_awaitable);
  }

 private:
  // Queues a coroutine; starts the sequence of turns if none is running.
  template <class Handler>
  void add(Handler handler) {
    auto shared = std::make_shared<Handler>(std::move(handler));
    waiting_.push_back([shared] {
      Handler resume = std::move(*shared);
      resume();
    });
    if (!std::exchange(running_, true)) post();
  }
  // Queues the next turn after all handlers that are ready now.
  void post() {
    boost::asio::post(io_, [this] { run_first(); });
  }
  // Resumes the longest waiting connection.
  void run_first() {
    if (waiting_.empty()) {
      running_ = false;
      return;
    }
    const std::function<void()> first = std::move(waiting_.front());
    waiting_.pop_front();
    post();
    first();
  }

  boost::asio::io_context& io_;
  // Coroutines in the order in which they asked.
  std::deque<std::function<void()>> waiting_;
  bool running_ = false;
};

}  // namespace ruv
