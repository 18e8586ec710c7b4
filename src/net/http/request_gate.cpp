#include "net/http/request_gate.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>

#include "net/api_error.h"
#include "net/http/connection.h"
#include "net/http/request_head.h"
#include "net/http/served_request.h"

namespace ruv {
namespace {

// The head that HTTP/1.1 would have, so that headers are read in one place.
HttpRequest as_request(RelayedCall& call) {
  RequestHead head;
  head.method(boost::beast::http::verb::post);
  head.target(call.route);
  const auto& names = RequestGate::header_names();
  for (const auto& [name, value] : call.headers) {
    if (std::ranges::find(names, name) != names.end()) head.insert(name, value);
  }
  head.set(boost::beast::http::field::content_type, "application/json");
  HttpRequest request = to_request(head);
  request.body = std::move(call.body);
  return request;
}

// What a worker needs of a request.
struct RelayedJob {
  RelayedJob(HttpRequest sent, ServerBudget& budget)
      : request(std::move(sent)), body(budget, BudgetUse::bodies) {}
  HttpRequest request;
  BudgetShare body;
};

}  // namespace

RelayedRequest::RelayedRequest(ServerState& server, std::function<void()> on_ready)
    : server_(server),
      guard_(server.io.get_executor()),
      reply_(std::make_shared<RelayedReply>(server.io, server.options, server.budget,
                                            std::move(on_ready))) {
  place_.emplace(server, RequestRecord{}, std::nullopt, begun_);
  place_->on_stop([reply = reply_] { reply->disconnect(RelayCut::stopping); });
}

// It continues as a request of its own.
std::unique_ptr<Detached> RelayedRequest::detach() {
  return std::make_unique<RequestWork>(server_, record_, key_, begun_);
}

// In the order in which HTTP/1.1 checks them.
RouteChoice RelayedRequest::choose(HttpRequest& request) {
  if (server_.stopping) return {.refusal = server_overloaded("the server is stopping")};
  if (const auto access = server_.access.check(request); !access) {
    return {.refusal = error_response(access.error())};
  }
  const ApiKeys& keys = server_.options.api_keys;
  RouteChoice choice = server_.router.choose(request, keys);
  if (!choice.key) return choice;
  key_ = keys[*choice.key];
  if (const auto wait = server_.limits.admit(*key_, Clock::now())) {
    return {.refusal = over_limit(*wait)};
  }
  return choice;
}

// On the network thread or a worker, as the route says.
void RelayedRequest::start(const Route& route, HttpRequest request) {
  request.stop = reply_->stop_token();
  n_body_bytes_ = request.body.size();
  const auto job = std::make_shared<RelayedJob>(std::move(request), server_.budget);
  if (!job->body.resize(job->request.body.capacity())) {
    return reply_->send(server_overloaded(kManyBodies));
  }
  if (route.thread == RouteThread::network) return run_route(route, job->request, reply_);
  server_.workers.post([job, &route, reply = reply_, &budget = server_.budget] {
    if (job->request.stop.stop_requested()) return;
    BudgetShare parsing(budget, BudgetUse::parsing);
    if (!parsing.resize(job->request.body.size() * kParseBytesPerBodyByte)) {
      return send_response(reply, server_overloaded(kManyBodies));
    }
    run_route(route, job->request, reply);
  });
}

// A transport that leaves before the end cuts its answer.
void RelayedRequest::end() {
  reply_->forget_transport();
  const bool is_cut = reply_->cut() != RelayCut::none || !reply_->ended();
  if (is_cut) reply_->disconnect(RelayCut::client);
  record_.notes = std::move(reply_->notes());
  record_.status = reply_->head() ? reply_->head()->status : 0;
  record_.is_cut = is_cut;
  server_.report(record_, key_, begun_);
  server_.memory.note_ended(n_body_bytes_);
  place_.reset();
  guard_.reset();
}

const std::vector<std::string>& RequestGate::header_names() {
  static const std::vector<std::string> kNames{"authorization", "x-api-key", "x-request-id",
                                               "traceparent",   "host",      "origin"};
  return kNames;
}

void RequestGate::post(std::function<void()> work) {
  boost::asio::post(server_.io, [work = std::move(work)] {
    try {
      work();
    } catch (const std::exception&) {
      // Memory ran out; what the work held is released.
    }
  });
}

ServerBudget& RequestGate::budget() { return server_.budget; }

// A request without a route gets its refusal as an answer.
std::shared_ptr<RelayedRequest> RequestGate::begin(RelayedCall call,
                                                   std::function<void()> on_ready) {
  auto relayed = std::make_shared<RelayedRequest>(server_, std::move(on_ready));
  relayed->reply_->set_host(relayed);
  HttpRequest request = as_request(call);
  RequestRecord& record = relayed->record_;
  if (request.id.empty()) request.id = fmt::format("req-{:016x}", server_.ids.next());
  record.id = request.id;
  record.trace = request.trace;
  record.method = request.method;
  record.path = std::move(call.path);
  RouteChoice choice = relayed->choose(request);
  if (choice.route == nullptr) {
    relayed->reply_->send(std::move(choice.refusal));
    return relayed;
  }
  record.route = choice.route->path;
  if (call.refusal) {
    relayed->reply_->send(std::move(*call.refusal));
    return relayed;
  }
  relayed->start(*choice.route, std::move(request));
  return relayed;
}

void RequestGate::every(std::chrono::milliseconds period, std::function<void()> action) {
  if (server_.stopping) return;
  period_ = period;
  on_tick_ = std::move(action);
  timer_ = std::make_unique<boost::asio::steady_timer>(server_.io);
  tick();
}

void RequestGate::tick() {
  on_tick_();
  timer_->expires_after(period_);
  timer_->async_wait([this](const boost::system::error_code& error) {
    if (!error && !server_.stopping) tick();
  });
}

// The timer would keep the loop alive.
void RequestGate::begin_stop() {
  if (timer_) timer_->cancel();
  if (on_stop_) std::exchange(on_stop_, nullptr)();
}

}  // namespace ruv
