// The table of routes, and finding a row by method and path.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/http/message.h"
#include "net/http/reply.h"

namespace ruv {

// Called on a worker thread; may take its time to parse, and answers through the reply.
using RouteAction = std::function<void(const HttpRequest&, const std::shared_ptr<Reply>&)>;

struct Route {
  std::string method;  // "POST"
  std::string path;    // "/v1/models" or, for any tail, "/v1/models/{id}"
  RouteAction action;
  bool needs_key = true;  // asks for the API key when the server has one
  bool takes_query = false;
};

// A route that answers at once.
Route simple_route(std::string method, std::string path,
                   std::function<HttpResponse(const HttpRequest&)> answer);

class Router {
 public:
  explicit Router(std::vector<Route> routes, std::string api_key = {})
      : routes_(std::move(routes)), api_key_(std::move(api_key)) {}

  // Runs the route of the request, or answers 404, 405, 401 or 400 (a query
  // where the route takes none).
  // Exceptions of the route (memory, third parties) become 500.
  void dispatch(HttpRequest request, const std::shared_ptr<Reply>& reply) const;

 private:
  bool key_matches(const HttpRequest& request) const;

  std::vector<Route> routes_;
  std::string api_key_;
};

}  // namespace ruv
