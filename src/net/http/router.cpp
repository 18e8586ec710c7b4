#include "net/http/router.h"

#include <exception>
#include <new>

#include "net/api_error.h"

namespace ruv {
namespace {

// Whether `path` is the route's, and what its `{…}` stands for.
bool path_matches(const std::string& pattern, const std::string& path, std::string& tail) {
  const size_t brace = pattern.find('{');
  if (brace == std::string::npos) return pattern == path;
  if (path.size() <= brace || path.compare(0, brace, pattern, 0, brace) != 0) return false;
  tail = path.substr(brace);
  return true;
}

HttpResponse wrong_method(const HttpRequest& request, const std::string& allowed) {
  HttpResponse response = error_response(
      {405, "invalid_request_error",
       fmt::format("{} does not take {}; it takes {}", request.path, request.method, allowed), "",
       "method_not_allowed"});
  response.headers.emplace_back("Allow", allowed);
  return response;
}

}  // namespace

Route simple_route(std::string method, std::string path,
                   std::function<HttpResponse(const HttpRequest&)> answer) {
  return {std::move(method), std::move(path),
          [answer = std::move(answer)](const HttpRequest& request,
                                       const std::shared_ptr<Reply>& reply) {
            send_response(reply, answer(request));
          }};
}

// Takes the same time wherever the keys differ.
bool Router::key_matches(const HttpRequest& request) const {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view sent = request.authorization;
  if (!sent.starts_with(kScheme)) return false;
  const std::string_view key = sent.substr(kScheme.size());
  unsigned difference = key.size() == api_key_.size() ? 0 : 1;
  for (size_t i = 0; i < key.size(); ++i) {
    difference |= static_cast<unsigned char>(key[i]) ^
                  static_cast<unsigned char>(api_key_[i % api_key_.size()]);
  }
  return difference == 0;
}

void Router::dispatch(HttpRequest request, const std::shared_ptr<Reply>& reply) const {
  std::string allowed;
  for (const Route& route : routes_) {
    if (!path_matches(route.path, request.path, request.path_tail)) continue;
    if (route.method != request.method) {
      allowed += allowed.empty() ? route.method : ", " + route.method;
      continue;
    }
    if (route.needs_key && !api_key_.empty() && !key_matches(request)) {
      return send_response(reply, error_response({401, "invalid_request_error",
                                                  "a valid API key is required: send the header "
                                                  "'Authorization: Bearer <key>'",
                                                  "", "invalid_api_key"}));
    }
    if (!request.query.empty() && !route.takes_query) {
      return send_response(
          reply, error_response({400, "invalid_request_error",
                                 fmt::format("{} takes no query parameters", request.path), "",
                                 "unknown_query"}));
    }
    try {
      return route.action(request, reply);
    } catch (const std::bad_alloc&) {
      return send_response(reply, error_response(api_error(Status(
                                      Code::out_of_memory, "no memory left for this request"))));
    } catch (const std::exception& e) {
      return send_response(reply, error_response(api_error(Status(Code::internal, e.what()))));
    }
  }
  if (!allowed.empty()) return send_response(reply, wrong_method(request, allowed));
  send_response(
      reply, error_response({404, "invalid_request_error",
                             fmt::format("no such endpoint: {} {}", request.method, request.path),
                             "", "unknown_url"}));
}

}  // namespace ruv
