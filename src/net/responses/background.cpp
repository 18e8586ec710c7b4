#include "net/responses/background.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/check.h"
#include "base/json.h"
#include "net/openai/answer_writer.h"

namespace ruv {
namespace {

// For one response. Raising it lets more of a long stream be read again, at the cost of memory.
constexpr uint64_t kMaxLogBytes = 4 << 20;
// Each gets every event, on the network thread.
constexpr size_t kMaxFollowers = 16;

constexpr const char* kBackground = "background";

ApiError too_many_background(size_t n) {
  return {429, "rate_limit_error",
          fmt::format("{} background responses run or wait already; try again later", n),
          kBackground, "rate_limit_exceeded"};
}

ApiError background_overloaded() {
  return {503, "server_error", "background responses take too much memory; try again later",
          kBackground, "overloaded"};
}

// What ends the stream of a client though the response continues. It may come back for what follows
// the number.
std::string follower_error(const ApiError& error, int64_t number) {
  const Json json = {{"type", "error"},
                     {"sequence_number", number},
                     {"code", error.code},
                     {"message", error.message},
                     {"param", nullptr}};
  return sse_event("error", json.dump());
}

ApiError slow_follower() {
  return {503, "server_error", "the client reads more slowly than the events come", "",
          "client_too_slow"};
}

// Whether the events from `first` on can be sent.
ApiResult<void> check_first(const EventLog& events, int64_t first) {
  constexpr const char* kField = "starting_after";
  if (first > events.n_events()) {
    return tl::unexpected(
        bad_request(kField, fmt::format("'{}' is {}, but the last event so far has the number {}",
                                        kField, first - 1, events.n_events() - 1)));
  }
  if (first >= events.n_forgotten()) return {};
  return tl::unexpected(bad_request(
      kField,
      fmt::format("'{}': the first {} events of the response are not kept any more; get it "
                  "without 'stream'",
                  kField, events.n_forgotten()),
      "events_not_kept"));
}

}  // namespace

std::shared_ptr<BackgroundReply> BackgroundResponses::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = running_.find(id);
  return found == running_.end() ? nullptr : found->second;
}

std::shared_ptr<const EventLog> BackgroundResponses::events(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(ended_, id, &EndedLog::id);
  return found == ended_.end() ? nullptr : found->events;
}

void BackgroundResponses::forget_events(const std::string& id) {
  const std::lock_guard lock(mutex_);
  drop_events(id);
}

void BackgroundResponses::drop_events(const std::string& id) {
  const auto found = std::ranges::find(ended_, id, &EndedLog::id);
  if (found == ended_.end()) return;
  n_bytes_ -= found->n_bytes;
  ended_.erase(found);
}

size_t BackgroundResponses::n_running() const {
  const std::lock_guard lock(mutex_);
  return n_entered_;
}

uint64_t BackgroundResponses::n_bytes() const {
  const std::lock_guard lock(mutex_);
  return n_bytes_;
}

ApiResult<void> BackgroundResponses::enter(uint64_t n_bytes) {
  const std::lock_guard lock(mutex_);
  if (n_entered_ >= max_running_) return tl::unexpected(too_many_background(n_entered_));
  if (!make_room(n_bytes)) return tl::unexpected(background_overloaded());
  ++n_entered_;
  n_bytes_ += n_bytes;
  return {};
}

// What may fail comes first. The reply may be destroyed by that, which must not happen under the
// mutex.
void BackgroundResponses::leave(const std::string& id, uint64_t n_bytes,
                                std::shared_ptr<const EventLog> events) {
  std::list<EndedLog> kept;
  if (events != nullptr) kept.push_back({id, events, events->n_bytes()});
  std::shared_ptr<BackgroundReply> hidden;
  const std::lock_guard lock(mutex_);
  --n_entered_;
  n_bytes_ -= n_bytes;
  if (const auto found = running_.find(id); found != running_.end()) {
    hidden = std::move(found->second);
    running_.erase(found);
  }
  if (kept.empty()) return;
  drop_events(id);
  if (!make_room(kept.front().n_bytes)) return;
  n_bytes_ += kept.front().n_bytes;
  ended_.splice(ended_.end(), kept);
}

bool BackgroundResponses::make_room(uint64_t n_bytes) {
  while (n_bytes_ + n_bytes > max_bytes_ && !ended_.empty()) {
    n_bytes_ -= ended_.front().n_bytes;
    ended_.pop_front();
  }
  return n_bytes_ + n_bytes <= max_bytes_;
}

bool BackgroundResponses::resize(uint64_t n_before, uint64_t n_after) {
  const std::lock_guard lock(mutex_);
  if (n_after > n_before && !make_room(n_after - n_before)) return false;
  n_bytes_ += n_after - n_before;
  return true;
}

void BackgroundResponses::show(const std::string& id, std::shared_ptr<BackgroundReply> reply) {
  const std::lock_guard lock(mutex_);
  running_[id] = std::move(reply);
}

BackgroundReply::BackgroundReply(std::shared_ptr<BackgroundResponses> all,
                                 std::shared_ptr<Reply> client, Asked asked)
    : all_(std::move(all)),
      client_(std::move(client)),
      asked_(std::move(asked)),
      events_(std::make_shared<EventLog>(kMaxLogBytes)) {}

// On any thread, where it was refused or its client left before it began.
BackgroundReply::~BackgroundReply() { leave(nullptr); }

ApiResult<std::shared_ptr<BackgroundReply>> BackgroundReply::begin(
    std::shared_ptr<BackgroundResponses> all, std::shared_ptr<Reply> client, Asked asked) {
  std::shared_ptr<BackgroundReply> reply(
      new BackgroundReply(std::move(all), std::move(client), std::move(asked)));
  TRY(reply->all_->enter(reply->asked_.n_bytes));
  reply->is_entered_ = true;
  reply->n_taken_bytes_ = reply->asked_.n_bytes;
  reply->keep(reply->client_->kept());
  return reply;
}

// An exception in `work` must not leave the response in progress for ever.
void BackgroundReply::post(std::function<void()> work) {
  client_->post([self = shared_from_this(), work = std::move(work)] {
    try {
      work();
    } catch (const std::exception&) {
      self->give_up(GivenUp::broken);
    }
  });
}

void BackgroundReply::send(HttpResponse response) {
  is_over_ = true;
  leave(nullptr);
  client_->notes().model = notes().model;
  client_->notes().tenant = notes().tenant;
  client_->notes().finish = notes().finish;
  client_->notes().contents = std::move(notes().contents);
  client_->send(std::move(response));
}

// The engine has taken the request.
void BackgroundReply::begin_stream(std::string_view) {
  detached_ = client_->detach();
  is_gone_ = detached_ == nullptr;
  if (is_gone_) return;
  client_->notes().model = notes().model;
  client_->notes().tenant = notes().tenant;
  detached_->on_stop([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->give_up(GivenUp::stopped);
  });
}

bool BackgroundReply::write(std::string events) {
  if (is_over_ || !asked_.wants_events || events.empty()) return true;
  pass_on(events);
  log(events);
  return true;
}

// Answers in pieces have no events.
void BackgroundReply::send_pieces(uint64_t, std::function<std::string()>) { CHECK(false); }

bool BackgroundReply::hold(uint64_t n_bytes) {
  if (is_over_) return true;
  const uint64_t before = std::exchange(n_held_bytes_, n_bytes);
  if (take(asked_.n_bytes + n_held_bytes_ + events_->n_bytes())) return true;
  n_held_bytes_ = before;
  return false;
}

void BackgroundReply::on_disconnect(std::function<void()> action) {
  if (is_over_) return;
  if (is_gone_) return action();
  on_disconnect_ = std::move(action);
}

void BackgroundReply::show(const std::string& id, std::string response) {
  {
    const std::lock_guard lock(mutex_);
    shown_ = std::move(response);
  }
  if (!id_.empty()) return;
  id_ = id;
  all_->show(id_, shared_from_this());
}

std::string BackgroundReply::shown() const {
  const std::lock_guard lock(mutex_);
  return shown_;
}

void BackgroundReply::answer_client() {
  post([self = shared_from_this()] { self->start_client(); });
}

// It may have ended already.
void BackgroundReply::start_client() {
  if (std::exchange(is_client_answered_, true)) return;
  if (!asked_.wants_events) return client_->send({.body = shown()});
  std::string events = std::exchange(client_events_, {});
  client_->begin_stream();
  if (is_over_) return client_->write_last(std::move(events));
  add_follower(client_, events, 0);
}

void BackgroundReply::cancel(std::function<void()> done) {
  post([self = shared_from_this(), done = std::move(done)] {
    if (self->is_over_) return done();
    self->waiting_.push_back(done);
    self->give_up(GivenUp::cancelled);
  });
}

// One whose last tokens came before it was cancelled ends as if it was not: it only waits to be
// kept.
void BackgroundReply::give_up(GivenUp why) {
  if (is_over_) return;
  given_up_ = why;
  constexpr const char* kNames[] = {"", "cancelled", "server_stopped", "internal_error"};
  if (notes().finish.empty()) notes().finish = kNames[static_cast<size_t>(why)];
  bool is_broken = why == GivenUp::broken;
  try {
    if (on_disconnect_) std::exchange(on_disconnect_, nullptr)();
  } catch (const std::exception&) {
    is_broken = true;
  }
  if (is_over_ || (why == GivenUp::cancelled && !is_broken)) return;
  if (id_.empty()) return refuse_client();
  finish({});
}

// No memory was left before there was a response.
void BackgroundReply::refuse_client() {
  is_over_ = true;
  leave(nullptr);
  if (detached_ != nullptr) detached_->end(notes());
  client_->send(error_response(
      api_error(Status(Code::out_of_memory, "no memory left for this request"), kBackground)));
}

// What may fail comes first, as it is tried again without events.
void BackgroundReply::finish(std::string events) {
  if (is_over_) return;
  if (asked_.wants_events) events_->add(events);
  leave(asked_.wants_events ? events_ : nullptr);
  is_over_ = true;
  on_disconnect_ = nullptr;
  if (detached_ != nullptr) detached_->end(notes());
  if (!is_client_answered_) client_events_ += events;
  const std::vector<std::shared_ptr<Reply>> followers = std::exchange(followers_, {});
  for (const auto& follower : followers) follower->write_last(events);
  for (const auto& done : take_waiting()) done();
}

bool BackgroundReply::take(uint64_t n_bytes) {
  if (!all_->resize(n_taken_bytes_, n_bytes)) return false;
  n_taken_bytes_ = n_bytes;
  return true;
}

void BackgroundReply::leave(std::shared_ptr<const EventLog> events) {
  if (!is_entered_) return;
  all_->leave(id_, n_taken_bytes_, std::move(events));
  is_entered_ = false;
}

// Events are not worth a response: where there is no room they are forgotten.
void BackgroundReply::log(const std::string& events) {
  const uint64_t n_others = asked_.n_bytes + n_held_bytes_;
  events_->add(events);
  if (take(n_others + events_->n_bytes())) return;
  events_->forget_all();
  take(n_others);
}

// A follower that is sent away may be gone, which changes the list.
void BackgroundReply::pass_on(const std::string& events) {
  if (!is_client_answered_) client_events_ += events;
  std::vector<std::shared_ptr<Reply>> followers = std::exchange(followers_, {});
  std::erase_if(followers, [&](const auto& follower) {
    const bool is_slow = !follower->write(events);
    if (is_slow) follower->write_last(follower_error(slow_follower(), events_->n_events() - 1));
    return is_slow;
  });
  followers_ = std::move(followers);
}

void BackgroundReply::add_follower(const std::shared_ptr<Reply>& follower,
                                   const std::string& events, int64_t first) {
  if (!follower->write(events)) {
    return follower->write_last(follower_error(answers_overloaded(), first - 1));
  }
  followers_.push_back(follower);
  follower->on_disconnect([weak = weak_from_this(), gone = follower.get()] {
    const auto self = weak.lock();
    if (!self) return;
    std::erase_if(self->followers_, [gone](const auto& one) { return one.get() == gone; });
  });
}

void BackgroundReply::follow(const std::shared_ptr<Reply>& follower, int64_t first) {
  if (is_over_) return replay_events(*events_, follower, first);
  if (const auto sendable = check_first(*events_, first); !sendable) {
    return follower->send(error_response(sendable.error()));
  }
  if (followers_.size() >= kMaxFollowers) {
    return follower->send(error_response(
        {429, "rate_limit_error",
         fmt::format("{} clients read the events of this response already", kMaxFollowers),
         "stream", "rate_limit_exceeded"}));
  }
  follower->begin_stream();
  add_follower(follower, events_->from(first), first);
}

void replay_events(const EventLog& events, const std::shared_ptr<Reply>& reply, int64_t first) {
  if (const auto sendable = check_first(events, first); !sendable) {
    return reply->send(error_response(sendable.error()));
  }
  reply->begin_stream();
  reply->write_last(events.from(first));
}

}  // namespace ruv
