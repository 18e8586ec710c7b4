#include "net/http/exchange.h"

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

}  // namespace

// Names from the request, made safe for a header.
void Exchange::add_noted(HeaderLines& lines) {
  if (notes().ignored.empty()) return;
  std::string names;
  for (const std::string& name : notes().ignored) {
    if (names.size() > kMaxNamesBytes) break;
    names += names.empty() ? "" : ", ";
    for (const char c : shortened(name, kMaxNameBytes)) names += c > ' ' && c < 0x7F ? c : '?';
  }
  lines.emplace_back("X-Ignored-Fields", std::move(names));
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

// Small writes are appended to the last block. Without bytes only the connection is woken.
bool Exchange::queue(std::string bytes) {
  if (bytes.empty()) {
    wake_.cancel();
    return true;
  }
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
    ResponseHead head{.status = response.status,
                      .content_type = response.content_type,
                      .length = response.body.size(),
                      .lines = std::move(response.headers)};
    add_noted(head.lines);
    queue(frames_->begin(head));
    if (!frames_->head_only() && !response.body.empty()) queue(std::move(response.body));
  }
  end();
}

void Exchange::begin_stream(std::string_view content_type) {
  CHECK(!begun_ && !ended_);
  begun_ = true;
  status_ = 200;
  is_events_ = content_type.starts_with("text/event-stream");
  if (disconnected_) return;
  ResponseHead head{.content_type = content_type,
                    .lines = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}};
  add_noted(head.lines);
  queue(frames_->begin(head));
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
  if (bytes.empty() || frames_->head_only()) return true;
  return queue(frames_->piece(std::move(bytes)));
}

void Exchange::write_last(std::string bytes) {
  CHECK(begun_ && !ended_);
  // Without room even for this, the client sees a stream that breaks off.
  if (!disconnected_ && !frames_->head_only() && !queue(frames_->last(std::move(bytes)))) {
    disconnect();
  }
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
  ResponseHead head{.content_type = "application/json"};
  add_noted(head.lines);
  queue(frames_->begin(head));
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
