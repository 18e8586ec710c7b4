#include "net/http/served_request.h"

#include <algorithm>

#include "net/api_error.h"
#include "net/http/request_work.h"

namespace ruv {
namespace {

// Unwanted bodies up to this size are read.
constexpr uint64_t kMaxUnusedBodyBytes = 64 << 10;

}  // namespace

HttpResponse invalid_http(std::string_view reason) {
  return error_response(bad_request("", fmt::format("not valid HTTP: {}", reason), "invalid_http"));
}

HttpResponse long_head(uint32_t max_bytes) {
  return error_response({431, "invalid_request_error",
                         fmt::format("the headers are longer than {} bytes", max_bytes), "",
                         "headers_too_large"});
}

HttpResponse long_body(uint64_t max_bytes) {
  return error_response({413, "invalid_request_error",
                         fmt::format("the body is longer than {} bytes", max_bytes), "",
                         "body_too_large"});
}

HttpResponse over_limit(int64_t wait_seconds) {
  HttpResponse response =
      error_response({429, "rate_limit_error", "the API key has used up its limit for this minute",
                      "", "rate_limit_exceeded"});
  response.headers = {{"Retry-After", fmt::format("{}", wait_seconds)}};
  return response;
}

HttpResponse server_overloaded(std::string message) {
  return error_response({503, "server_error", std::move(message), "", "overloaded"});
}

HttpResponse request_too_late() {
  return error_response(
      {408, "invalid_request_error", "the request came too slowly", "", "request_timeout"});
}

std::chrono::steady_clock::duration body_patience(const ServerOptions& options, uint64_t n_bytes) {
  const auto by_rate = options.body_grace +
                       std::chrono::seconds(n_bytes / static_cast<uint64_t>(options.min_body_rate));
  return std::min<std::chrono::steady_clock::duration>(by_rate, options.body_timeout);
}

uint64_t IncomingRequest::max_body_bytes(const ServerOptions& options) const {
  const bool is_wanted = route != nullptr && takes_body(*route);
  return is_wanted ? options.max_body_bytes : std::min(options.max_body_bytes, kMaxUnusedBodyBytes);
}

void ServedRequest::begin() {
  begun_ = Clock::now();
  record_ = {};
  key_.reset();
}

// Ids that clients send are kept, so that their logs and ours can be compared.
HeaderLines ServedRequest::identify(HttpRequest& request) {
  if (request.id.empty()) request.id = fmt::format("req-{:016x}", server_.ids.next());
  record_.id = request.id;
  record_.trace = request.trace;
  record_.method = request.method;
  record_.path = request.path;
  HeaderLines lines = server_.access.cors_headers(request);
  lines.emplace_back("X-Request-Id", record_.id);
  return lines;
}

void ServedRequest::report(int status, bool is_cut) {
  record_.status = status;
  record_.is_cut = is_cut;
  server_.report(record_, key_, begun_);
}

std::unique_ptr<Detached> ServedRequest::detach() {
  return std::make_unique<RequestWork>(server_, record_, key_, begun_);
}

void ServedRequest::choose(IncomingRequest& incoming) {
  if (const auto access = server_.access.check(incoming.request); !access) {
    incoming.refusal = error_response(access.error());
    return;
  }
  if (server_.access.is_preflight(incoming.request)) {
    incoming.refusal = HttpResponse{};  // the headers say it
    return;
  }
  const ApiKeys& keys = server_.options.api_keys;
  RouteChoice choice = server_.router.choose(incoming.request, keys);
  if (choice.key) {
    key_ = keys[*choice.key];
    if (const auto wait = server_.limits.admit(*key_, Clock::now())) {
      incoming.refusal = over_limit(*wait);
      return;
    }
  }
  incoming.route = choice.route;
  incoming.refusal = std::move(choice.refusal);
  if (incoming.route != nullptr) record_.route = incoming.route->path;
}

void ServedRequest::start(IncomingRequest incoming, const std::shared_ptr<Exchange>& exchange) {
  n_body_bytes_ = incoming.body.bytes();
  if (incoming.route == nullptr) return exchange->send(std::move(incoming.refusal));
  start_route(std::move(incoming), exchange);
}

void ServedRequest::start_route(IncomingRequest incoming,
                                const std::shared_ptr<Exchange>& exchange) {
  incoming.request.stop = exchange->stop_token();
  const Route& route = *incoming.route;
  if (route.thread == RouteThread::network) return run_route(route, incoming.request, exchange);
  auto job = std::make_shared<IncomingRequest>(std::move(incoming));
  server_.workers.post([job, exchange, &budget = server_.budget] {
    if (job->request.stop.stop_requested()) return;
    BudgetShare parsing(budget, BudgetUse::parsing);
    if (!parsing.resize(job->request.body.size() * kParseBytesPerBodyByte)) {
      return send_response(exchange, server_overloaded(kManyBodies));
    }
    run_route(*job->route, job->request, exchange);
  });
}

void ServedRequest::finish(Exchange& exchange, bool is_cut) {
  record_.notes = std::move(exchange.notes());
  report(exchange.status(), is_cut);
  server_.memory.note_ended(n_body_bytes_);
}

}  // namespace ruv
