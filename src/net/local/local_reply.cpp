#include "net/local/local_reply.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace ruv {

void LocalReply::post(std::function<void()> work) { push(std::move(work), true); }
void LocalReply::post_soon(std::function<void()> work) { push(std::move(work), false); }

// No thread is woken while the mutex is held, which the woken thread would then wait for.
void LocalReply::push(std::function<void()> work, bool is_urgent) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    works_.push_back(std::move(work));
    has_urgent_ |= is_urgent;
    if (wakes_ == Wakes::nothing || (wakes_ == Wakes::urgent && !is_urgent)) return;
    wakes_ = Wakes::nothing;  // once is enough
  }
  wake_.notify_one();
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
  Works dropped;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    dropped.swap(works_);
  }
  wake_.notify_all();
}

bool LocalReply::wait_until(std::unique_lock<std::mutex>& lock, Deadline deadline, Wakes wakes) {
  const auto is_ready = [this, wakes] {
    const bool has_work = wakes == Wakes::all ? !works_.empty() : has_urgent_;
    return has_work || closed_;
  };
  while (!is_ready()) {
    wakes_ = wakes;
    if (!deadline) {
      wake_.wait(lock);
    } else if (wake_.wait_until(lock, *deadline) == std::cv_status::timeout) {
      break;
    }
  }
  wakes_ = Wakes::nothing;
  return is_ready();
}

// Where nothing came within the moment before, pieces come slowly, and the next is not waited for
// twice.
LocalReply::Works LocalReply::next_works(Deadline deadline, bool& is_late) {
  using Clock = std::chrono::steady_clock;
  std::unique_lock lock(mutex_);
  const Clock::time_point moment = taken_at_ + kMoment;
  bool is_ready = has_urgent_ || closed_;
  if (!is_ready && comes_fast_ && Clock::now() < moment) {
    is_ready = wait_until(lock, deadline ? std::min(*deadline, moment) : moment, Wakes::urgent);
  }
  comes_fast_ = !works_.empty();
  if (!is_ready && !comes_fast_) is_late = !wait_until(lock, deadline, Wakes::all);
  if (is_late) return {};
  has_urgent_ = false;
  const Clock::time_point now = Clock::now();
  comes_fast_ = comes_fast_ || now < moment;
  taken_at_ = now;
  return std::exchange(works_, {});
}

// Work that is dropped here may hold what only the turn may touch.
void LocalReply::run(const std::function<void()>& work) {
  const std::lock_guard lock(turn_);
  if (cut_ != State::waiting || ended_) return;
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
    const Works works = next_works(deadline, is_late);
    if (is_late) return State::waiting;
    for (const std::function<void()>& work : works) run(work);
  }
}

std::string LocalReply::take() {
  const std::lock_guard lock(turn_);
  std::string all;
  for (std::string& piece : pieces_) {
    if (all.empty()) {
      all = std::move(piece);
    } else {
      all += piece;
    }
  }
  pieces_.clear();
  return all;
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
