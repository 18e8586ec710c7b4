// Sessions over HTTP: a chat request that names one goes on with what was said there before, and
// what it adds is on disk before the last of its answer is sent.
#pragma once

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

// The store, and the thread that writes to it: the network thread must not wait for a disk.
class SessionKeeper {
 public:
  // The store must outlive the keeper.
  explicit SessionKeeper(SessionStore& store) : store_(store), thread_([this] { work(); }) {}
  // Writes what waits.
  ~SessionKeeper();

  SessionStore& store() const { return store_; }
  // Runs `job` in the keeper's thread, in the order of the calls. Any thread.
  void post(std::function<void()> job);

 private:
  void work();

  SessionStore& store_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  std::thread thread_;
};

// A request's turn in a session; nobody else changes the session meanwhile.
class SessionTurn : public std::enable_shared_from_this<SessionTurn> {
 public:
  // Puts the kept messages before those of the request. Fails: 400 (no sessions here, the name, too
  // long), 409 (another turn is not over), 500 (its file is damaged), 503 (too many sessions).
  static ApiResult<std::shared_ptr<SessionTurn>> begin(const OpenAiService& service,
                                                       GenerateRequest& request);

  // Adds the request's messages and the answer. `kept` is called in the keeper's thread when they
  // are on disk and the session is free again, or with the reason why not.
  void keep(const std::string& answer, int64_t n_tokens, std::function<void(Status)> kept);

 private:
  SessionTurn(const OpenAiService& service, SessionStore::Hold hold)
      : service_(service), hold_(std::move(hold)) {}
  ApiResult<void> join(const Session& before, GenerateRequest& request);
  Status save() const;

  const OpenAiService& service_;
  std::optional<SessionStore::Hold> hold_;
  Session session_;
  // The kept ones and the request's where the answer continues the last of them, else none: then it
  // is added to session_.
  std::vector<Message> open_;
};

}  // namespace ruv
