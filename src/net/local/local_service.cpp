#include "net/local/local_service.h"

#include <fmt/format.h>

#include "net/openai/api_route.h"
#include "net/openai/routes.h"
#include "net/openai/vector_request.h"

namespace ruv {
namespace {

// Those that neither need a server nor change its models.
std::vector<Route> local_routes(ServedModels& models) {
  std::vector<Route> routes{chat_completions_route(models), completions_route(models),
                            embeddings_route(models), stats_route(models)};
  for (const auto& more :
       {rank_routes, text_routes, session_routes, props_routes, adapter_routes}) {
    for (Route& route : more(models)) routes.push_back(std::move(route));
  }
  return routes;
}

// Only LocalService::begin has such routes called.
ApiResult<void> answer_vectors(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  VectorRequest request = TRY(read_vector_request(call, call.body));
  const auto local = std::static_pointer_cast<LocalReply>(reply);
  compute_vectors(call.service, std::move(request), reply, [local](VectorResult result) {
    const auto kept = std::make_shared<VectorResult>(std::move(result));
    local->post([local, kept] { local->send_vectors(std::move(*kept)); });
  });
  return {};
}

HttpResponse too_long() {
  return error_response(
      {413, "invalid_request_error",
       fmt::format("the request has more than {} MiB", LocalService::kMaxBodyBytes >> 20), "",
       "body_too_large"});
}

}  // namespace

LocalService::LocalService(const LocalSource& source)
    : service_(service_of(source, *source.engine)),
      router_(local_routes(models_)),
      vector_router_(
          {api_route(models_, "POST", "/v1/embeddings", embedding_fields(), answer_vectors)}) {
  service_.metrics = nullptr;  // none of the routes shows them
}

std::shared_ptr<LocalReply> LocalService::begin(std::string method, std::string_view target,
                                                std::string body, bool as_vectors) {
  const auto reply = std::make_shared<LocalReply>(turn_);
  HttpRequest request;
  request.method = std::move(method);
  const size_t mark = target.find('?');
  request.path = decode_percent(target.substr(0, mark));
  if (mark != target.npos) request.query = target.substr(mark + 1);
  request.content_type = "application/json";
  request.body = std::move(body);
  request.stop = reply->stop_token();
  RouteChoice choice = (as_vectors ? vector_router_ : router_).choose(request);
  if (request.body.size() > kMaxBodyBytes) {
    send_response(reply, too_long());
  } else if (choice.route == nullptr) {
    send_response(reply, std::move(choice.refusal));
  } else if (choice.route->thread == RouteThread::network) {
    const auto kept = std::make_shared<HttpRequest>(std::move(request));
    reply->post([reply, kept, route = choice.route] { run_route(*route, *kept, reply); });
  } else {
    run_route(*choice.route, request, reply);
  }
  return reply;
}

}  // namespace ruv
