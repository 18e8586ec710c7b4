#include "net/http/router.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <new>
#include <thread>

#include "net/api_error.h"

namespace ruv {
namespace {

// Takes off what the first `{…}` of two stands for. False: there is nothing.
bool take_first(std::string_view& pattern, std::string_view& path, std::string& first) {
  const size_t brace = pattern.find('{');
  const size_t end = pattern.find('}');
  if (brace == pattern.npos || pattern.find('{', end) == pattern.npos) return true;
  if (!path.starts_with(pattern.substr(0, brace))) return false;
  path.remove_prefix(brace);
  first = path.substr(0, path.find('/'));
  path.remove_prefix(first.size());
  pattern.remove_prefix(end + 1);
  return !first.empty();
}

// Whether `path` is the route's, and what its `{…}` stand for, which is never empty.
bool path_matches(std::string_view pattern, std::string_view path, std::string& first,
                  std::string& tail) {
  if (!take_first(pattern, path, first)) return false;
  const size_t brace = pattern.find('{');
  if (brace == pattern.npos) return pattern == path;
  const std::string_view before = pattern.substr(0, brace);
  const std::string_view behind = pattern.substr(pattern.find('}') + 1);
  if (!path.starts_with(before) || !path.ends_with(behind)) return false;
  if (path.size() <= before.size() + behind.size()) return false;
  tail = path.substr(brace, path.size() - before.size() - behind.size());
  return true;
}

constexpr size_t kMaxEchoedBytes = 200;

std::string echo(const std::string& path) { return shortened(path, kMaxEchoedBytes); }

// 405 with the header Allow.
HttpResponse wrong_method(const HttpRequest& request, const std::string& allowed) {
  HttpResponse response =
      error_response({405, "invalid_request_error",
                      fmt::format("{} does not take {}; it takes {}", echo(request.path),
                                  echo(request.method), allowed),
                      "", "method_not_allowed"});
  response.headers.emplace_back("Allow", allowed);
  return response;
}

// 404 for an unknown path.
HttpResponse no_route(const HttpRequest& request) {
  return error_response(
      {404, "invalid_request_error",
       fmt::format("no such endpoint: {} {}", echo(request.method), echo(request.path)), "",
       "unknown_url"});
}

HttpResponse wrong_key(const Route& route) {
  return route.write_error({401, "invalid_request_error",
                            "a valid API key is required: send the header "
                            "'Authorization: Bearer <key>' or 'X-Api-Key: <key>'",
                            "", "invalid_api_key"});
}

HttpResponse wrong_scope(const Route& route) {
  return route.write_error({403, "invalid_request_error",
                            "the API key is not for this endpoint: its scopes do not have it", "",
                            "key_scope"});
}

// A page of another site can make a browser post forms and plain text here unasked, but not JSON.
HttpResponse wrong_type(const Route& route, const HttpRequest& request) {
  return route.write_error(
      bad_request("",
                  request.content_type.empty()
                      ? std::string("send the header 'Content-Type: application/json'")
                      : fmt::format("the content type is '{}'; it must be application/json",
                                    echo(request.content_type)),
                  "unsupported_content_type"));
}

HttpResponse failure_response(Code code, std::string message) {
  return error_response(api_error(Status(code, std::move(message))));
}

// For the exception that is being handled.
HttpResponse exception_response() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return failure_response(Code::out_of_memory, "no memory left for this request");
  } catch (const std::filesystem::filesystem_error& e) {  // what() has the path
    return failure_response(Code::internal, e.code().message());
  } catch (const std::exception& e) {
    return failure_response(Code::internal, e.what());
  }
}

}  // namespace

bool takes_body(const Route& route) { return route.method == "POST" || route.method == "PUT"; }

Route simple_route(std::string method, std::string path,
                   std::function<HttpResponse(const HttpRequest&)> answer) {
  return {std::move(method), std::move(path),
          [answer = std::move(answer)](const HttpRequest& request,
                                       const std::shared_ptr<Reply>& reply) {
            send_response(reply, answer(request));
          }};
}

// Path first, then method, key and content type. A method is named once, though several routes of
// it may take the path.
RouteChoice Router::choose_at(const std::string& path, HttpRequest& request,
                              const ApiKeys& keys) const {
  std::string allowed;
  for (const Route& route : routes_) {
    request.path_first.clear();
    request.path_tail.clear();
    if (!path_matches(route.path, path, request.path_first, request.path_tail)) continue;
    if (route.is_flat && request.path_tail.find('/') != std::string::npos) continue;
    const bool is_head = request.method == "HEAD" && route.method == "GET";
    if (route.method != request.method && !is_head) {
      if (allowed.find(route.method) != std::string::npos) continue;
      allowed += allowed.empty() ? route.method : ", " + route.method;
      continue;
    }
    std::optional<size_t> key;
    if (route.needs_key && !keys.empty()) {
      key = keys.find(request.key);
      if (!key) return {.refusal = wrong_key(route)};
      if (!keys.allows(*key, route.scope)) return {.refusal = wrong_scope(route)};
      request.key_name = keys[*key].name;
      request.has_own_key = true;
    }
    if (takes_body(route) && request.from_web_page && request.content_type != "application/json") {
      return {.refusal = wrong_type(route, request)};
    }
    return {.route = &route, .refusal = {}, .key = key};
  }
  return {.refusal = allowed.empty() ? no_route(request) : wrong_method(request, allowed)};
}

RouteChoice Router::choose(HttpRequest& request, const ApiKeys& keys) const {
  std::string path = request.path;
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  RouteChoice choice = choose_at(path, request, keys);
  if (choice.route != nullptr || choice.refusal.status != 404) return choice;
  RouteChoice in_v1 = choose_at("/v1" + path, request, keys);
  return in_v1.route != nullptr || in_v1.refusal.status != 404 ? std::move(in_v1)
                                                               : std::move(choice);
}

// What the route took is free by now, so memory for these few bytes is found, if not at once.
void answer_exception(const std::shared_ptr<Reply>& reply) {
  for (;;) {
    try {
      return send_response(reply, exception_response());
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

void run_route(const Route& route, HttpRequest& request, const std::shared_ptr<Reply>& reply) {
  run_caught(reply, [&] { route.action(request, reply); });
}

}  // namespace ruv
