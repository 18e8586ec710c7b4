#include "net/http/exchange.h"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <exception>

#include "base/check.h"
#include "net/api_error.h"

namespace ruv {
namespace {

// Writes are put together in strings of about this size.
constexpr size_t kJoinedBytes = 16 << 10;
// Bytes of the names that a header lists, and of each.
constexpr size_t kMaxNamesBytes = 1 << 10;
constexpr size_t kMaxNameBytes = 100;
// Every answer has it: browsers then do not guess another type of content.
constexpr std::string_view kAsDeclared = "X-Content-Type-Options: nosniff\r\n";

}  // namespace

// Names from the request, made safe for a header.
std::string Exchange::noted_headers() {
  if (notes().ignored.empty()) return {};
  std::string names;
  for (const std::string& name : notes().ignored) {
    if (names.size() > kMaxNamesBytes) break;
    names += names.empty() ? "" : ", ";
    for (const char c : shortened(name, kMaxNameBytes)) names += c > ' ' && c < 0x7F ? c : '?';
  }
  return "X-Ignored-Fields: " + names + "\r\n";
}

// The status line and headers.
std::string response_head(const HttpResponse& response, const AnswerFraming& framing) {
  std::string bytes = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\n{}Content-Length: {}\r\n{}Connection: {}\r\n",
      response.status, http_reason(response.status), response.content_type, kAsDeclared,
      response.body.size(), framing.headers, framing.keep_alive ? "keep-alive" : "close");
  for (const auto& [name, value] : response.headers) bytes += name + ": " + value + "\r\n";
  return bytes += "\r\n";
}

// Head and body of an answer that is sent as a whole.
std::string response_bytes(const HttpResponse& response, const AnswerFraming& framing) {
  std::string bytes = response_head(response, framing);
  if (!framing.head_only) bytes += response.body;
  return bytes;
}

// Exceptions inside `work` must not end the network thread.
void Exchange::post(std::function<void()> work) {
  boost::asio::post(io_, [self = shared_from_this(), work = std::move(work)] {
    try {
      work();
    } catch (const std::exception&) {
      self->disconnect();
    }
  });
}

// Counts bytes beyond kOwnAnswerBytes against the budget.
bool Exchange::make_room(int64_t n_bytes) {
  const int64_t wanted = n_waiting_bytes_ + n_bytes + static_cast<int64_t>(n_held_bytes_) -
                         static_cast<int64_t>(kOwnAnswerBytes);
  return waiting_.resize(wanted > 0 ? static_cast<uint64_t>(wanted) : 0);
}

// Small writes are appended to the last block.
bool Exchange::queue(std::string bytes) {
  const auto n_bytes = static_cast<int64_t>(bytes.size());
  if (!make_room(n_bytes)) return false;
  if (queued_.empty() || queued_.back().bytes.size() + bytes.size() > kJoinedBytes) {
    queued_.push_back({std::move(bytes)});
  } else {
    queued_.back().bytes += bytes;
  }
  queued_.back().n_bytes += n_bytes;
  ++queued_.back().n_writes;
  n_waiting_bytes_ += n_bytes;
  ++n_waiting_;
  wake_.cancel();
  return true;
}

void Exchange::end() {
  ended_ = true;
  on_disconnect_ = nullptr;
  wake_.cancel();
}

// An answer without room in the budget is replaced by 503.
void Exchange::send(HttpResponse response) {
  CHECK(!begun_ && !ended_);
  n_held_bytes_ = 0;
  if (!disconnected_) {
    if (!make_room(static_cast<int64_t>(response.body.size() + kJoinedBytes))) {
      response = error_response(answers_overloaded());
    }
    status_ = response.status;
    std::string head = response_head(response, framing_);
    head.insert(head.size() - 2, noted_headers());
    queue(std::move(head));
    if (!framing_.head_only && !response.body.empty()) queue(std::move(response.body));
  }
  end();
}

// Chunked unless the client speaks HTTP/1.0.
void Exchange::begin_stream(std::string_view content_type) {
  CHECK(!begun_ && !ended_);
  begun_ = true;
  status_ = 200;
  is_events_ = content_type.starts_with("text/event-stream");
  if (disconnected_) return;
  queue(
      fmt::format("HTTP/1.1 200 OK\r\nContent-Type: {}\r\n{}"
                  "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n{}{}Connection: {}\r\n\r\n",
                  content_type, kAsDeclared, framing_.headers + noted_headers(),
                  framing_.chunked ? "Transfer-Encoding: chunked\r\n" : "",
                  framing_.keep_alive ? "keep-alive" : "close"));
}

// Proxies close connections on which nothing moves, and a client that is gone is noticed.
void Exchange::beat() {
  if (is_events_ && !ended_) write(": waiting\n\n");
}

// False also after the client has disconnected.
bool Exchange::write(std::string bytes) {
  CHECK(begun_ && !ended_);
  if (disconnected_) return false;
  if (n_waiting_bytes_ > options_.max_queued_bytes || n_waiting_ > options_.max_queued_writes) {
    return false;
  }
  // An empty chunk would end the body.
  if (bytes.empty() || framing_.head_only) return true;
  return queue(framing_.chunked ? fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes)
                                : std::move(bytes));
}

void Exchange::write_last(std::string bytes) {
  CHECK(begun_ && !ended_);
  if (framing_.head_only) return end();
  if (framing_.chunked) {
    bytes =
        bytes.empty() ? "0\r\n\r\n" : fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", bytes.size(), bytes);
  }
  // Without room even for this, the client sees a stream that breaks off.
  if (!disconnected_ && !queue(std::move(bytes))) disconnect();
  end();
}

void Exchange::send_pieces(uint64_t n_held_bytes, std::function<std::string()> next) {
  CHECK(!begun_ && !ended_);
  if (disconnected_) return end();
  n_held_bytes_ = n_held_bytes;
  if (!make_room(kJoinedBytes)) {
    n_held_bytes_ = 0;
    return send(error_response(answers_overloaded()));
  }
  begun_ = true;
  status_ = 200;
  next_piece_ = std::move(next);
  queue(fmt::format(
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{}{}{}Connection: {}\r\n\r\n",
      kAsDeclared, framing_.headers + noted_headers(),
      framing_.chunked ? "Transfer-Encoding: chunked\r\n" : "",
      framing_.keep_alive ? "keep-alive" : "close"));
}

// What cannot be made, because memory is out, breaks the answer off.
void Exchange::queue_piece() {
  try {
    std::string piece = next_piece_();
    if (!piece.empty()) {
      if (!write(std::move(piece))) disconnect();
      return;
    }
    next_piece_ = nullptr;
    n_held_bytes_ = 0;
    write_last({});
  } catch (const std::exception&) {
    disconnect();
  }
}

bool Exchange::hold(uint64_t n_bytes) {
  if (disconnected_) return true;
  const uint64_t before = std::exchange(n_held_bytes_, n_bytes);
  if (make_room(0)) return true;
  n_held_bytes_ = before;
  return false;
}

void Exchange::on_disconnect(std::function<void()> action) {
  if (ended_) return;
  if (disconnected_) return action();
  on_disconnect_ = std::move(action);
}

std::unique_ptr<Detached> Exchange::detach() {
  CHECK(!ended_);
  const auto host = host_.lock();
  return host == nullptr || disconnected_ ? nullptr : host->detach();
}

// Moves the first block out; its size counts as in flight until mark_written.
std::string Exchange::take_queued() {
  if (queued_.empty() && next_piece_ && !disconnected_) queue_piece();
  if (queued_.empty()) return {};
  in_flight_ = std::move(queued_.front());
  queued_.pop_front();
  return std::exchange(in_flight_.bytes, {});
}

void Exchange::mark_written() {
  n_waiting_ -= in_flight_.n_writes;
  n_waiting_bytes_ -= in_flight_.n_bytes;
  in_flight_ = {};
  make_room(0);
}

// Runs the route's action once and stops the token; later writes are ignored.
void Exchange::disconnect() {
  if (disconnected_ || ended_) return;
  disconnected_ = true;
  queued_.clear();
  next_piece_ = nullptr;
  n_held_bytes_ = 0;
  n_waiting_ = in_flight_.n_writes;
  n_waiting_bytes_ = in_flight_.n_bytes;
  make_room(0);
  wake_.cancel();
  stop_.request_stop();
  if (on_disconnect_) std::exchange(on_disconnect_, nullptr)();
}

}  // namespace ruv
