// The table of routes, and the lookup of a route by method and path. HEAD is taken where GET is, a
// slash at the end of a path says nothing, and "/v1" may be left out.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/api_error.h"
#include "net/http/api_keys.h"
#include "net/http/message.h"
#include "net/http/reply.h"

namespace ruv {

// Answers through the reply, at once or later. The action may move parts out of the request.
using RouteAction = std::function<void(HttpRequest&, const std::shared_ptr<Reply>&)>;

// How an API writes an error.
using WriteError = HttpResponse (*)(const ApiError&);

// The thread on which a route's action is called.
enum class RouteThread {
  worker,   // may take its time to parse, and may wait for a disk
  network,  // must neither compute nor wait: all connections wait meanwhile
};

// A row of the table.
struct Route {
  std::string method;  // "POST"
  // "/v1/models", "/v1/models/{id}" or "/v1/responses/{id}/cancel": braces stand for any text, also
  // with slashes in it unless is_flat; of two, the first stands for a text without. The first row
  // that takes a path and its method is the route.
  std::string path;
  RouteAction action;
  bool needs_key = true;  // asks for an API key when the server has one
  RouteThread thread = RouteThread::worker;
  KeyScope scope = KeyScope::infer;  // what the key must be for
  std::string body_table = {};  // the name of the table of its body's fields; empty: there is none
  WriteError write_error = error_response;                // also where the key is refused
  std::vector<std::string> types = {"application/json"};  // of its answers, without parameters
  bool is_flat = false;  // no braces of its path stand for a text with slashes
};

// Whether a body is read for the route: that of POST and PUT. A web page's must be JSON.
bool takes_body(const Route& route);

// A route that answers at once.
Route simple_route(std::string method, std::string path,
                   std::function<HttpResponse(const HttpRequest&)> answer);

// A route, or the answer to a request that has none.
struct RouteChoice {
  const Route* route = nullptr;
  HttpResponse refusal = {};
  std::optional<size_t> key = {};  // the place of the request's key
};

// Immutable; any number of threads may use it.
class Router {
 public:
  explicit Router(std::vector<Route> routes) : routes_(std::move(routes)) {}

  // The route of a request whose body has not been read, and the request's path_tail; or 404, 405,
  // 401, 400 (a web page's body that is not JSON).
  RouteChoice choose(HttpRequest& request, const ApiKeys& keys = {}) const;

 private:
  // The choice for a path as it is written in the table.
  RouteChoice choose_at(const std::string& path, HttpRequest& request, const ApiKeys& keys) const;

  std::vector<Route> routes_;
};

// Answers for the exception that is being handled (out of memory, third parties): 503 or 500.
void answer_exception(const std::shared_ptr<Reply>& reply);
// Calls `part`, of the work for a request; its exceptions are answered. Takes no memory of its own.
template <class Part>
void run_caught(const std::shared_ptr<Reply>& reply, const Part& part) {
  try {
    part();
  } catch (const std::exception&) {
    answer_exception(reply);
  }
}
// Calls the route's action so.
void run_route(const Route& route, HttpRequest& request, const std::shared_ptr<Reply>& reply);

}  // namespace ruv
