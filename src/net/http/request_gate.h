// RequestGate: has requests that came by another transport than HTTP/1.1 answered by a server's
// routes, with the server's keys, limits, budget, workers, log and order of stopping.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/http/api_keys.h"
#include "net/http/budget.h"
#include "net/http/detached.h"
#include "net/http/relayed_reply.h"
#include "net/http/request_record.h"
#include "net/http/request_work.h"
#include "net/http/router.h"
#include "net/http/server.h"

namespace ruv {

struct ServerState;

// A request as another transport received it.
struct RelayedCall {
  std::string route;  // "/v1/completions", which takes POST
  std::string path;   // as the log has it
  // Headers in HTTP's sense; those that are not among RequestGate::header_names() say nothing.
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};  // JSON
  // What a client that may ask gets instead, where the transport found the request wrong.
  std::optional<HttpResponse> refusal = {};
};

// One such request, from its arrival to its report. The server waits for it when it stops. Used on
// the network thread.
class RelayedRequest final : public DetachHost {
 public:
  using Clock = std::chrono::steady_clock;
  RelayedRequest(ServerState& server, std::function<void()> on_ready);

  RelayedReply& reply() { return *reply_; }
  // The id of the header X-Request-Id, or a drawn one.
  const std::string& id() const { return record_.id; }
  // All was sent, or the client is gone: the request is reported. Once.
  void end();
  std::unique_ptr<Detached> detach() override;

 private:
  friend class RequestGate;
  // The route, or a refusal.
  RouteChoice choose(HttpRequest& request);
  void start(const Route& route, HttpRequest request);

  ServerState& server_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::shared_ptr<RelayedReply> reply_;
  RequestRecord record_;
  std::optional<ApiKey> key_;
  Clock::time_point begun_ = Clock::now();
  std::optional<RequestWork> place_;  // among what the server waits for
  uint64_t n_body_bytes_ = 0;
};

class RequestGate {
 public:
  explicit RequestGate(ServerState& server) : server_(server) {}
  RequestGate(const RequestGate&) = delete;
  RequestGate& operator=(const RequestGate&) = delete;

  // In lower case.
  static const std::vector<std::string>& header_names();

  // Runs `work` later on the network thread, in the order of the calls; never where the server's
  // run() has returned. An exception in it is dropped. Any thread.
  void post(std::function<void()> work);
  ServerBudget& budget();  // any thread

  // The others are for the network thread.

  // Has the request answered; RelayedReply says what on_ready is for.
  std::shared_ptr<RelayedRequest> begin(RelayedCall call, std::function<void()> on_ready);
  // Calls `action` now and after each `period`, until the server begins to stop. One at most.
  void every(std::chrono::milliseconds period, std::function<void()> action);
  // `action` is called when the server begins to stop. One at most.
  void on_stop(std::function<void()> action) { on_stop_ = std::move(action); }
  // The server begins to stop.
  void begin_stop();

 private:
  void tick();

  ServerState& server_;
  std::function<void()> on_stop_;
  std::function<void()> on_tick_;
  std::chrono::milliseconds period_{0};
  std::unique_ptr<boost::asio::steady_timer> timer_;
};

}  // namespace ruv
