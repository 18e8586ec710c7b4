// Arguments and results of awaited calls are named variables: see connection.cpp.
#include "net/http/http2_stream.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <new>

#include "net/http/http2_connection.h"
#include "net/http/received_body.h"

namespace ruv {
namespace {

namespace asio = boost::asio;

constexpr auto kWaited = asio::as_tuple(asio::use_awaitable);
// What is read and thrown away after an answer that did not need it, so that the client gets to see
// the answer.
constexpr uint64_t kMaxDroppedBytes = 16 << 20;
constexpr std::chrono::milliseconds kDropTimeout{2'000};

}  // namespace

Http2Stream::Http2Stream(ServerState& server, Http2Connection& connection, int32_t id)
    : server_(server),
      connection_(&connection),
      id_(id),
      head_(server.budget, server.options.max_header_bytes),
      incoming_(server.budget),
      served_(server),
      timer_(server.io) {
  ++server_.n_streams;
  served_.begin();
}

// What follows a body (trailers) is counted and has no meaning here.
bool Http2Stream::add_field(std::string_view name, std::string_view value) {
  if (has_head_) {
    n_dropped_ += name.size() + value.size();
    return n_dropped_ <= kMaxDroppedBytes;
  }
  return head_.add(name, value);
}

void Http2Stream::refuse(HttpResponse refusal) {
  incoming_.route = nullptr;
  incoming_.refusal = std::move(refusal);
  incoming_.request.body = {};
  incoming_.body.resize(0);
  timer_.cancel();
}

void Http2Stream::end_head(bool is_end) {
  has_head_ = true;
  has_ended_ = is_end;
  is_head_method_ = head_.is_head_method();
  if (auto fault = head_.fault()) {
    HttpRequest unread;
    lines_ = served_.identify(unread);
    refuse(std::move(*fault));
  } else {
    incoming_.request = head_.request();
    length_ = head_.length();
    lines_ = served_.identify(incoming_.request);
    served_.choose(incoming_);
  }
  asio::co_spawn(server_.io, serve(), [self = shared_from_this()](const std::exception_ptr& error) {
    if (error) self->break_off();
  });
}

void Http2Stream::break_off() {
  if (connection_ != nullptr) connection_->reset(id_, Http2Connection::Reset::failed);
  if (exchange_) exchange_->disconnect();
  report_unanswered();
}

void Http2Stream::report_unanswered() {
  if (!std::exchange(is_reported_, true)) served_.report(0, true);
}

void Http2Stream::add_body(std::string_view bytes) {
  if (has_started_ || incoming_.route == nullptr) {
    n_dropped_ += bytes.size();
    if (n_dropped_ > kMaxDroppedBytes) timer_.cancel();
    return;
  }
  std::string& body = incoming_.request.body;
  const uint64_t max_bytes = incoming_.max_body_bytes(server_.options);
  if (bytes.size() > max_bytes - body.size()) return refuse(long_body(max_bytes));
  try {
    make_body_room(body, bytes.size(), length_.value_or(UINT64_MAX));
  } catch (const std::bad_alloc&) {
    return refuse(server_overloaded(kNoMemory));
  }
  if (!incoming_.body.resize(body.capacity())) return refuse(server_overloaded(kManyBodies));
  body += bytes;
}

void Http2Stream::end_body() {
  has_ended_ = true;
  timer_.cancel();
}

// A route that has its own answer to the head does not wait for the body.
asio::awaitable<void> Http2Stream::read_body() {
  const auto start = Clock::now();
  const uint64_t max_bytes = incoming_.max_body_bytes(server_.options);
  if (incoming_.route != nullptr && length_ && *length_ > max_bytes) refuse(long_body(max_bytes));
  if (incoming_.route != nullptr && !has_ended_ && head_.asks_first()) connection_->go_on(id_);
  while (connection_ != nullptr && !has_ended_ && incoming_.route != nullptr) {
    const uint64_t n_here = incoming_.request.body.size();
    const auto until = start + body_patience(server_.options, n_here);
    if (Clock::now() >= until) {
      refuse(request_too_late());
      break;
    }
    timer_.expires_at(until);
    co_await timer_.async_wait(kWaited);
  }
}

asio::awaitable<void> Http2Stream::serve() {
  const auto self = shared_from_this();
  co_await read_body();
  has_started_ = true;
  if (connection_ == nullptr) {
    report_unanswered();
    co_return;
  }
  auto frames = std::make_unique<Http2Frames>(std::move(lines_), is_head_method_);
  frames_ = frames.get();
  exchange_ =
      std::make_shared<Exchange>(server_.io, server_.options, server_.budget, std::move(frames));
  exchange_->set_host(std::shared_ptr<DetachHost>(self, &served_));
  served_.start(std::move(incoming_), exchange_);
  co_await write_answer();
  const bool is_cut = !exchange_->ended() || exchange_->disconnected() || !is_sent_;
  if (is_cut) exchange_->disconnect();
  is_reported_ = true;
  served_.finish(*exchange_, is_cut);
  co_await linger();
}

bool Http2Stream::is_bare() const {
  return frames_->head_only() || (exchange_->ended() && !has_bytes());
}

bool Http2Stream::has_bytes() const { return at_ < block_.size() || exchange_->has_queued(); }

bool Http2Stream::finish_block() {
  if (at_ < block_.size()) return false;
  if (!block_.empty()) exchange_->mark_written();
  block_ = {};
  at_ = 0;
  return true;
}

Http2Stream::Taken Http2Stream::take(char* room, size_t n_room) {
  Taken taken;
  if (!exchange_ || connection_ == nullptr) return {.is_broken = true};
  while (taken.n < n_room) {
    if (finish_block()) block_ = exchange_->take_queued();
    if (block_.empty()) break;
    const size_t n = block_.copy(room + taken.n, n_room - taken.n, at_);
    at_ += n;
    taken.n += n;
  }
  finish_block();
  if (exchange_->disconnected()) return {.is_broken = true};
  if (taken.n > 0) moved_at_ = Clock::now();
  if (!has_bytes()) is_waiting_ = false;
  taken.is_end = exchange_->ended() && !has_bytes();
  return taken;
}

// Hands over what is queued until the last byte has been sent.
asio::awaitable<void> Http2Stream::write_answer() {
  const ServerOptions& options = server_.options;
  auto quiet_since = Clock::now();
  while (!is_sent_ && !is_lost_ && (connection_ != nullptr || is_taken_)) {
    if (exchange_->disconnected()) {
      if (connection_ != nullptr) connection_->reset(id_, Http2Connection::Reset::failed);
      co_return;
    }
    if (!is_taken_) connection_->push(*this);
    const auto now = Clock::now();
    if (!has_bytes()) {
      is_waiting_ = false;
    } else if (!std::exchange(is_waiting_, true)) {
      moved_at_ = now;
    }
    const auto beat_at = std::max(quiet_since, moved_at_) + options.heartbeat;
    const auto give_up_at = moved_at_ + options.write_timeout;
    asio::steady_timer& wake = exchange_->wake();
    wake.expires_at(is_waiting_ ? std::min(give_up_at, now + options.heartbeat) : beat_at);
    const auto [error] = co_await wake.async_wait(kWaited);
    const auto woken = Clock::now();
    if (error) {
      quiet_since = woken;
    } else if (is_waiting_ && woken >= moved_at_ + options.write_timeout) {
      if (connection_ != nullptr) connection_->reset(id_, Http2Connection::Reset::gave_up);
      co_return;
    } else if (!is_waiting_ && woken >= std::max(quiet_since, moved_at_) + options.heartbeat) {
      quiet_since = woken;
      exchange_->beat();
    }
  }
}

void Http2Stream::note_sent() {
  is_sent_ = true;
  if (exchange_) exchange_->wake().cancel();
}

// A client that still sends a body gets to see the answer.
asio::awaitable<void> Http2Stream::linger() {
  const auto until = Clock::now() + kDropTimeout;
  while (connection_ != nullptr && !has_ended_ && n_dropped_ <= kMaxDroppedBytes &&
         Clock::now() < until) {
    timer_.expires_at(until);
    co_await timer_.async_wait(kWaited);
  }
  if (connection_ != nullptr && !has_ended_) {
    connection_->reset(id_, Http2Connection::Reset::unneeded);
  }
}

void Http2Stream::lose() {
  is_lost_ = true;
  close();
  if (exchange_) exchange_->wake().cancel();
}

// Where all was taken, the end of the stream is how it should end.
void Http2Stream::close() {
  if (std::exchange(connection_, nullptr) == nullptr) return;
  if (!has_head_) report_unanswered();
  timer_.cancel();
  if (!exchange_) return;
  if (!is_taken_) exchange_->disconnect();
  exchange_->wake().cancel();
}

}  // namespace ruv
