// Sessions over HTTP: a chat request that names one continues it, and the request and its answer
// are on disk before the answer's last bytes are sent.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/json.h"
#include "engine/session_store.h"
#include "net/openai/generate_request.h"
#include "net/openai/service.h"

namespace ruv {

// The store and the thread that writes to it, since the network thread must not wait for a disk.
class SessionKeeper {
 public:
  // The store must outlive the keeper.
  explicit SessionKeeper(SessionStore& store) : store_(store), thread_([this] { work(); }) {}
  // Runs the jobs that wait, then ends.
  ~SessionKeeper();

  SessionStore& store() const { return store_; }
  // Removes sessions that nothing changed for `seconds`, now and once an hour, on the keeper's
  // thread; `removed` is called for each. At most once, before the first job.
  void keep_for(int64_t seconds, std::function<int64_t()> unix_time,
                std::function<void(const SessionInfo&)> removed);
  // Runs `job` in the keeper's thread, in the order of the calls. Any thread.
  void post(std::function<void()> job);

 private:
  // The loop of the keeper's thread.
  void work();
  void wait_for_work(std::unique_lock<std::mutex>& lock);

  SessionStore& store_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  std::function<void()> hourly_;
  std::chrono::steady_clock::time_point next_;  // when it is due
  bool stopping_ = false;
  std::thread thread_;
};

// The store of a server. Fails: 400 if it keeps no sessions.
ApiResult<SessionStore*> kept_sessions(const ServerParts& server);
// A session without its messages, as answers show it.
Json session_json(const SessionInfo& info);

// A request's turn in a session: until it ends, other requests to the session are refused.
class SessionTurn : public std::enable_shared_from_this<SessionTurn> {
 public:
  // Puts the stored messages before those of the request, which gets the session's adapters unless
  // it names some. Fails: 400 (no sessions here, the name, too long, an adapter that is not
  // loaded), 409 (another turn is not over), 500 (its file is damaged), 503 (too many sessions).
  static ApiResult<std::shared_ptr<SessionTurn>> begin(const OpenAiService& service,
                                                       GenerateRequest& request);

  // Stores the request's messages and the answer. `kept` is called on the keeper's thread when they
  // are on disk and the session is free again, or with the error.
  void keep(const Message& answer, int64_t n_tokens, std::function<void(Status)> kept);

 private:
  // Holds the session until it is destroyed.
  SessionTurn(const OpenAiService& service, SessionStore::Hold hold)
      : service_(service), hold_(std::move(hold)) {}
  // Puts stored messages before those of the request, and checks the sizes.
  ApiResult<void> join(const Session& before, GenerateRequest& request);
  // Those of the request, which the session keeps, or else the session's.
  ApiResult<void> choose_adapters(GenerateRequest& request);
  std::string name_of(const AdapterChoice& choice) const;
  // Writes the session to the store; on the keeper's thread.
  Status save() const;

  const OpenAiService& service_;
  std::optional<SessionStore::Hold> hold_;
  Session session_;
  std::string model_;  // as the answer calls it
  // All messages if the answer continues the last of them, else empty; the joined answer is then
  // added to session_.
  std::vector<Message> open_;
};

}  // namespace ruv
