#include "net/http/relayed_reply.h"

#include <boost/asio/post.hpp>
#include <exception>

#include "base/check.h"
#include "net/api_error.h"

namespace ruv {

void RelayedReply::post(std::function<void()> work) {
  boost::asio::post(io_, [self = shared_from_this(), work = std::move(work)] {
    try {
      work();
    } catch (const std::exception&) {
      self->disconnect(RelayCut::failed);
    }
  });
}

// Several reasons make one call.
void RelayedReply::note_ready() {
  if (notes_ready_ || !on_ready_) return;
  notes_ready_ = true;
  post([this] {
    notes_ready_ = false;
    if (!on_ready_) return;
    const auto call = on_ready_;  // it may be forgotten meanwhile
    call();
  });
}

// Bytes beyond kOwnAnswerBytes count against the budget.
bool RelayedReply::make_room(uint64_t n_bytes) {
  const uint64_t wanted = n_queued_bytes_ + n_bytes + n_held_bytes_;
  return waiting_.resize(wanted > kOwnAnswerBytes ? wanted - kOwnAnswerBytes : 0);
}

// What the transport takes at once is what was written at once.
bool RelayedReply::queue(std::string bytes) {
  if (!make_room(bytes.size())) return false;
  n_queued_bytes_ += bytes.size();
  queued_.push_back(std::move(bytes));
  note_ready();
  return true;
}

// The transport may still have to take the rest.
void RelayedReply::end() {
  ended_ = true;
  on_disconnect_ = nullptr;
  note_ready();
}

// An answer without room in the budget is replaced by 503.
void RelayedReply::send(HttpResponse response) {
  CHECK(!head_ && !ended_);
  n_held_bytes_ = 0;
  if (cut_ == RelayCut::none) {
    if (!make_room(response.body.size())) response = error_response(answers_overloaded());
    std::string body = std::exchange(response.body, {});
    head_ = std::move(response);
    if (!body.empty()) queue(std::move(body));
  }
  end();
}

// Nothing to take yet.
void RelayedReply::begin_stream(std::string_view content_type) {
  CHECK(!head_ && !ended_);
  head_ = HttpResponse{.status = 200, .content_type = std::string(content_type)};
}

// False also after the client has disconnected.
bool RelayedReply::write(std::string bytes) {
  CHECK(head_ && !ended_);
  if (cut_ != RelayCut::none) return false;
  if (n_queued_bytes_ > static_cast<uint64_t>(options_.max_queued_bytes) ||
      std::ssize(queued_) > options_.max_queued_writes) {
    return false;
  }
  return bytes.empty() || queue(std::move(bytes));
}

// Without room even for this, the answer breaks off.
void RelayedReply::write_last(std::string bytes) {
  CHECK(head_ && !ended_);
  const bool is_sent = cut_ != RelayCut::none || bytes.empty() || queue(std::move(bytes));
  if (!is_sent) disconnect(RelayCut::failed);
  end();
}

void RelayedReply::send_pieces(uint64_t n_held_bytes, std::function<std::string()> next) {
  CHECK(!head_ && !ended_);
  if (cut_ != RelayCut::none) return end();
  n_held_bytes_ = n_held_bytes;
  if (!make_room(0)) {
    n_held_bytes_ = 0;
    return send(error_response(answers_overloaded()));
  }
  head_ = HttpResponse{};
  next_piece_ = std::move(next);
  note_ready();
}

// What cannot be made, because memory is out, breaks the answer off.
void RelayedReply::queue_piece() {
  try {
    std::string piece = next_piece_();
    if (!piece.empty()) {
      if (!write(std::move(piece))) disconnect(RelayCut::failed);
      return;
    }
    next_piece_ = nullptr;
    n_held_bytes_ = 0;
    write_last({});
  } catch (const std::exception&) {
    disconnect(RelayCut::failed);
  }
}

// Nothing is kept for a transport that is gone.
bool RelayedReply::hold(uint64_t n_bytes) {
  if (cut_ != RelayCut::none) return true;
  const uint64_t before = std::exchange(n_held_bytes_, n_bytes);
  if (make_room(0)) return true;
  n_held_bytes_ = before;
  return false;
}

void RelayedReply::on_disconnect(std::function<void()> action) {
  if (ended_) return;
  if (cut_ != RelayCut::none) return action();
  on_disconnect_ = std::move(action);
}

std::unique_ptr<Detached> RelayedReply::detach() {
  CHECK(!ended_);
  const auto host = host_.lock();
  return host == nullptr || cut_ != RelayCut::none ? nullptr : host->detach();
}

// The clock runs from the first byte that was not confirmed.
std::string RelayedReply::take() {
  if (queued_.empty() && next_piece_ && cut_ == RelayCut::none) queue_piece();
  if (queued_.empty()) return {};
  std::string bytes = std::move(queued_.front());
  queued_.pop_front();
  n_taken_bytes_ = bytes.size();
  patience_.expires_after(options_.write_timeout);
  patience_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!error && self) self->disconnect(RelayCut::slow);
  });
  return bytes;
}

// Room for the next bytes.
void RelayedReply::mark_taken() {
  patience_.cancel();
  n_queued_bytes_ -= std::exchange(n_taken_bytes_, 0);
  make_room(0);
}

// Runs the route's action once and stops the token; later writes are ignored. An answer that the
// route has ended is cut, too, where not all of it was taken.
void RelayedReply::disconnect(RelayCut why) {
  if (cut_ != RelayCut::none) return;
  cut_ = why;
  queued_.clear();
  next_piece_ = nullptr;
  n_held_bytes_ = 0;
  n_queued_bytes_ = n_taken_bytes_;
  make_room(0);
  patience_.cancel();
  stop_.request_stop();
  if (on_disconnect_) std::exchange(on_disconnect_, nullptr)();
  note_ready();
}

}  // namespace ruv
