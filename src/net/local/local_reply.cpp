#include "net/local/local_reply.h"

#include <exception>
#include <utility>

namespace ruv {

// The engine's thread calls this, which must not see an exception where it can be helped: a posted
// event that is lost ends the answer.
void LocalReply::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    works_.push_back(std::move(work));
  }
  wake_.notify_all();
}

void LocalReply::send(HttpResponse response) {
  status_ = response.status;
  if (!response.body.empty()) pieces_.push_back(std::move(response.body));
  end();
}

void LocalReply::begin_stream(std::string_view) {
  status_ = 200;
  is_stream_ = true;
}

bool LocalReply::write(std::string bytes) {
  if (!bytes.empty()) pieces_.push_back(std::move(bytes));
  return true;
}

void LocalReply::write_last(std::string bytes) {
  write(std::move(bytes));
  end();
}

void LocalReply::send_pieces(uint64_t, std::function<std::string()> next) {
  status_ = 200;
  next_piece_ = std::move(next);
  end();
}

void LocalReply::on_disconnect(std::function<void()> action) {
  if (cut_ != State::waiting) return action();
  on_disconnect_ = std::move(action);
}

void LocalReply::send_vectors(VectorResult vectors) {
  status_ = 200;
  vectors_ = std::move(vectors);
  end();
}

// The action holds what answers, which holds this reply.
void LocalReply::end() {
  ended_ = true;
  on_disconnect_ = nullptr;
  close();
}

// What has not been run may hold this reply, too.
void LocalReply::close() {
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    dropped.swap(works_);
  }
  wake_.notify_all();
}

std::function<void()> LocalReply::next_work(Deadline deadline, bool& is_late) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return !works_.empty() || closed_; };
  is_late = false;
  if (deadline) {
    is_late = !wake_.wait_until(lock, *deadline, ready);
  } else {
    wake_.wait(lock, ready);
  }
  if (works_.empty()) return nullptr;
  std::function<void()> work = std::move(works_.front());
  works_.pop_front();
  return work;
}

// Work that is dropped here may hold what only the turn may touch.
void LocalReply::run(const std::function<void()>& work) {
  const std::lock_guard lock(turn_);
  if (cut_ != State::waiting) return;
  try {
    work();
  } catch (const std::exception&) {
    disconnect(State::failed);
  }
}

// For answers that are made in pieces.
void LocalReply::make_piece() {
  if (!pieces_.empty() || !next_piece_) return;
  try {
    std::string piece = next_piece_();
    if (piece.empty()) {
      next_piece_ = nullptr;
    } else {
      pieces_.push_back(std::move(piece));
    }
  } catch (const std::exception&) {
    disconnect(State::failed);
  }
}

LocalReply::State LocalReply::wait(Deadline deadline) {
  while (true) {
    {
      const std::lock_guard lock(turn_);
      if (cut_ != State::waiting) return cut_;
      make_piece();
      if (cut_ != State::waiting) return cut_;
      if (!pieces_.empty()) return State::piece;
      if (ended_) return State::ended;
    }
    bool is_late = false;
    const std::function<void()> work = next_work(deadline, is_late);
    if (is_late) return State::waiting;
    if (work) run(work);
  }
}

std::string LocalReply::take() {
  const std::lock_guard lock(turn_);
  if (pieces_.empty()) return {};
  std::string piece = std::move(pieces_.front());
  pieces_.pop_front();
  return piece;
}

void LocalReply::disconnect(State why) {
  if (cut_ != State::waiting) return;
  cut_ = why;
  stop_.request_stop();
  close();
  if (on_disconnect_) std::exchange(on_disconnect_, nullptr)();
  next_piece_ = nullptr;
  pieces_.clear();
}

void LocalReply::cancel() {
  const std::lock_guard lock(turn_);
  disconnect(State::cancelled);
}

}  // namespace ruv
