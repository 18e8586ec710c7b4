// ServedRequest: what a server does with a request whatever carries it: its key, its route and
// its record for logs. Used on the network thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "net/http/api_keys.h"
#include "net/http/detached.h"
#include "net/http/exchange.h"
#include "net/http/server_state.h"

namespace ruv {

// A request and its route, or the answer that its head already determines.
struct IncomingRequest {
  explicit IncomingRequest(ServerBudget& budget) : body(budget, BudgetUse::bodies) {}
  // How many bytes of a body are read. A small one that no route wants is read, too, so that the
  // connection can continue.
  uint64_t max_body_bytes(const ServerOptions& options) const;

  HttpRequest request;
  const Route* route = nullptr;
  HttpResponse refusal;
  BudgetShare body;
};

class ServedRequest final : public DetachHost {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ServedRequest(ServerState& server) : server_(server) {}

  // The first byte of a new request is here.
  void begin();
  // Its head is here. Draws an id where it has none, and returns the headers that all answers to it
  // have.
  HeaderLines identify(HttpRequest& request);
  // Finds the route or the refusal for its head.
  void choose(IncomingRequest& incoming);
  // Sends the refusal, or starts the route.
  void start(IncomingRequest incoming, const std::shared_ptr<Exchange>& exchange);
  // The answer has ended, or is given up where `is_cut`.
  void finish(Exchange& exchange, bool is_cut);
  // The request is over: tells what the options name.
  void report(int status, bool is_cut);
  std::unique_ptr<Detached> detach() override;

 private:
  // On the network thread or a worker, as the route says.
  void start_route(IncomingRequest incoming, const std::shared_ptr<Exchange>& exchange);

  ServerState& server_;
  RequestRecord record_;
  std::optional<ApiKey> key_;  // that the request carries
  Clock::time_point begun_;
  uint64_t n_body_bytes_ = 0;
};

// How long after its head a body may take of which n_bytes have come.
std::chrono::steady_clock::duration body_patience(const ServerOptions& options, uint64_t n_bytes);

// Answers to requests that are not what they should be.
HttpResponse invalid_http(std::string_view reason);
HttpResponse long_head(uint32_t max_bytes);
HttpResponse long_body(uint64_t max_bytes);
HttpResponse request_too_late();
HttpResponse over_limit(int64_t wait_seconds);
HttpResponse server_overloaded(std::string message);
inline constexpr const char* kManyBodies = "too many large requests at once";
inline constexpr const char* kManyBytes = "too many bytes of unfinished requests at once";
inline constexpr const char* kNoMemory = "no memory left for this request";

}  // namespace ruv
