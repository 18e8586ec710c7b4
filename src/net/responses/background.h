// Responses that continue when the requests that asked for them were answered. BackgroundReply is
// what such an answer is written to: it passes events on to the clients that follow it, and keeps
// them for those that come back.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "net/api_error.h"
#include "net/http/detached.h"
#include "net/http/reply.h"
#include "net/responses/event_log.h"

namespace ruv {

class BackgroundReply;

// Those of a server. Any thread.
class BackgroundResponses {
 public:
  // At most max_running have not ended. They and the events that can be read again, also of those
  // that have ended, take max_bytes. Raising the limits costs memory.
  explicit BackgroundResponses(size_t max_running = 128, uint64_t max_bytes = 64 << 20)
      : max_running_(max_running), max_bytes_(max_bytes) {}

  // One that has begun and not ended; null: there is none.
  std::shared_ptr<BackgroundReply> find(const std::string& id) const;
  // The events of one that has ended, for the network thread; null: they are not kept.
  std::shared_ptr<const EventLog> events(const std::string& id) const;
  // Drops them.
  void forget_events(const std::string& id);
  size_t n_running() const;
  uint64_t n_bytes() const;

 private:
  friend class BackgroundReply;
  struct EndedLog {
    std::string id;
    std::shared_ptr<const EventLog> events;
    uint64_t n_bytes;
  };
  // Fails: 429 (too many), 503 (they take too much memory).
  ApiResult<void> enter(uint64_t n_bytes);
  void show(const std::string& id, std::shared_ptr<BackgroundReply> reply);
  // Returns what it has taken, and keeps its events; null: it has none.
  void leave(const std::string& id, uint64_t n_bytes, std::shared_ptr<const EventLog> events);
  // False: there is not enough room.
  bool resize(uint64_t n_before, uint64_t n_after);
  // The functions in this group require the mutex. Room is made by dropping the events of those
  // that ended first.
  bool make_room(uint64_t n_bytes);
  void drop_events(const std::string& id);

  const size_t max_running_;
  const uint64_t max_bytes_;
  mutable std::mutex mutex_;  // guards all below
  std::unordered_map<std::string, std::shared_ptr<BackgroundReply>> running_;
  std::list<EndedLog> ended_;  // the oldest first
  size_t n_entered_ = 0;
  uint64_t n_bytes_ = 0;
};

// Used on the network thread, but for begin(), shown(), cancel() and what Reply says.
class BackgroundReply final : public Reply, public std::enable_shared_from_this<BackgroundReply> {
 public:
  // The request that asked for it.
  struct Asked {
    std::string owner;  // as StoredResponse has it
    bool wants_events;  // its client reads a stream
    uint64_t n_bytes;   // of memory that it takes meanwhile
  };
  // Why a response ended before its end.
  enum class GivenUp { no, cancelled, stopped, broken };

  // Fails: 429 (too many), 503 (they take too much memory).
  static ApiResult<std::shared_ptr<BackgroundReply>> begin(std::shared_ptr<BackgroundResponses> all,
                                                           std::shared_ptr<Reply> client,
                                                           Asked asked);
  ~BackgroundReply() override;

  // What the answer is written to. A refusal before it begins goes to its client.
  void post(std::function<void()> work) override;
  void send(HttpResponse response) override;
  using Reply::begin_stream;
  void begin_stream(std::string_view content_type) override;
  bool write(std::string events) override;
  void write_last(std::string events) override { finish(std::move(events)); }
  void send_pieces(uint64_t n_held_bytes, std::function<std::string()> next) override;
  bool hold(uint64_t n_bytes) override;
  void on_disconnect(std::function<void()> action) override;
  std::unique_ptr<Detached> detach() override { return nullptr; }

  // For what writes the answer.

  // The response has this id, and is this JSON until it ends or this is called again.
  void show(const std::string& id, std::string response);
  // The response is kept, so that the client may hear of it. Any thread.
  void answer_client();
  GivenUp given_up() const { return given_up_; }
  // What is to be called when it is kept how a response ended that was given up.
  std::vector<std::function<void()>> take_waiting() { return std::exchange(waiting_, {}); }
  // The response has ended; `events` are its last.
  void finish(std::string events);

  // For other requests.

  std::string shown() const;
  const std::string& owner() const { return asked_.owner; }
  bool has_events() const { return asked_.wants_events; }
  // Ends the response, unless it has ended. `done` is called when it is kept how it ended, on any
  // thread.
  void cancel(std::function<void()> done);
  // Sends the events from number `first` on as they come.
  void follow(const std::shared_ptr<Reply>& follower, int64_t first);

 private:
  BackgroundReply(std::shared_ptr<BackgroundResponses> all, std::shared_ptr<Reply> client,
                  Asked asked);
  void give_up(GivenUp why);
  void refuse_client();
  void start_client();
  // Sets what is taken of all_. False: there is no room for more.
  bool take(uint64_t n_bytes);
  void leave(std::shared_ptr<const EventLog> events);
  void log(const std::string& events);
  void pass_on(const std::string& events);
  // Sends it what came so far, which begins with the event of number `first`.
  void add_follower(const std::shared_ptr<Reply>& follower, const std::string& events,
                    int64_t first);

  const std::shared_ptr<BackgroundResponses> all_;
  const std::shared_ptr<Reply> client_;  // also what posts to the network thread
  const Asked asked_;
  uint64_t n_held_bytes_ = 0;  // by the answer
  uint64_t n_taken_bytes_ = 0;
  bool is_entered_ = false;
  std::string id_;  // empty: no client knows of it
  mutable std::mutex mutex_;
  std::string shown_;  // guarded by the mutex
  std::shared_ptr<EventLog> events_;
  std::vector<std::shared_ptr<Reply>> followers_;
  std::string client_events_;  // that wait until the client may hear of them
  bool is_client_answered_ = false;
  std::unique_ptr<Detached> detached_;
  std::function<void()> on_disconnect_;
  std::vector<std::function<void()>> waiting_;
  GivenUp given_up_ = GivenUp::no;
  bool is_gone_ = false;  // its client left before it began
  bool is_over_ = false;
};

// Sends kept events from number `first` on, or 400 where some of these are not kept or it is beyond
// the next one. Network thread.
void replay_events(const EventLog& events, const std::shared_ptr<Reply>& reply, int64_t first);

}  // namespace ruv
