#include "net/http/exchange.h"

#include <fmt/format.h>

#include <boost/asio/post.hpp>

#include "base/check.h"

namespace ruv {

std::string response_bytes(const HttpResponse& response, const AnswerFraming& framing) {
  std::string bytes =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: {}\r\n",
                  response.status, http_reason(response.status), response.content_type,
                  response.body.size(), framing.keep_alive ? "keep-alive" : "close");
  for (const auto& [name, value] : response.headers) bytes += name + ": " + value + "\r\n";
  bytes += "\r\n";
  if (!framing.head_only) bytes += response.body;
  return bytes;
}

void Exchange::post(std::function<void()> work) { boost::asio::post(io_, std::move(work)); }

void Exchange::queue(std::string bytes) {
  queued_ += bytes;
  ++n_queued_;
  wake_.cancel();
}

void Exchange::end() {
  ended_ = true;
  on_disconnect_ = nullptr;
  wake_.cancel();
}

void Exchange::send(HttpResponse response) {
  CHECK(!begun_ && !ended_);
  if (!disconnected_) queue(response_bytes(response, framing_));
  end();
}

void Exchange::begin_stream() {
  CHECK(!begun_ && !ended_);
  begun_ = true;
  if (disconnected_) return;
  queue(
      fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
                  "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n{}Connection: {}\r\n\r\n",
                  framing_.chunked ? "Transfer-Encoding: chunked\r\n" : "",
                  framing_.keep_alive ? "keep-alive" : "close"));
}

bool Exchange::write(std::string bytes) {
  CHECK(begun_ && !ended_);
  if (disconnected_) return false;
  const int64_t backlog = static_cast<int64_t>(queued_.size()) + in_flight_bytes_;
  if (backlog > options_.max_queued_bytes ||
      n_queued_ + n_in_flight_ > options_.max_queued_writes) {
    return false;
  }
  if (bytes.empty()) return true;  // an empty chunk would end the body
  queue(framing_.chunked ? fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes) : bytes);
  return true;
}

void Exchange::write_last(std::string bytes) {
  CHECK(begun_ && !ended_);
  if (!disconnected_) {
    if (!framing_.chunked) {
      queue(std::move(bytes));
    } else {
      queue(bytes.empty() ? "0\r\n\r\n"
                          : fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", bytes.size(), bytes));
    }
  }
  end();
}

void Exchange::on_disconnect(std::function<void()> action) {
  if (ended_) return;
  if (disconnected_) return action();
  on_disconnect_ = std::move(action);
}

std::string Exchange::take_queued() {
  n_in_flight_ = n_queued_;
  in_flight_bytes_ = static_cast<int64_t>(queued_.size());
  n_queued_ = 0;
  return std::exchange(queued_, {});
}

void Exchange::mark_written() {
  n_in_flight_ = 0;
  in_flight_bytes_ = 0;
}

void Exchange::disconnect() {
  if (disconnected_ || ended_) return;
  disconnected_ = true;
  queued_.clear();
  if (on_disconnect_) std::exchange(on_disconnect_, nullptr)();
}

}  // namespace ruv
