// GET /v1/models and GET /v1/models/{id}.
#include "base/json.h"
#include "net/openai/service.h"
#include "net/openai/vector_job.h"

namespace ruv {
namespace {

// The model as OpenAI's API describes one.
Json model_object(const OpenAiService& service) {
  Json object = {{"id", service.names.front()},
                 {"object", "model"},
                 {"created", service.created},
                 {"owned_by", "ruvllm"}};
  const Result<EmbedInfo>& info = service.text->embed_info();
  if (!info) return object;
  Json prompts = Json::array();
  for (const auto& [name, text] : info->prompts) prompts.push_back(name);
  object["embedding"] = {{"dimensions", info->n_dims},
                         {"max_tokens", most_embed_tokens(service)},
                         {"pooling", pooling_name(info->pooling)},
                         {"pooling_is_stated", info->pooling_is_stated},
                         {"normalize", info->normalises},
                         {"prompts", std::move(prompts)},
                         {"default_prompt", info->default_prompt}};
  return object;
}

}  // namespace

Route list_models_route(const OpenAiService& service) {
  Route route = simple_route("GET", "/v1/models", [&service](const HttpRequest&) {
    const Json list = {{"object", "list"}, {"data", Json::array({model_object(service)})}};
    return HttpResponse{.body = list.dump()};
  });
  route.thread = RouteThread::network;
  route.scope = KeyScope::any;
  return route;
}

Route get_model_route(const OpenAiService& service) {
  Route route = simple_route("GET", "/v1/models/{id}", [&service](const HttpRequest& request) {
    const auto known = check_model(service, request.path_tail);
    if (!known) return error_response(known.error());
    return HttpResponse{.body = model_object(service).dump()};
  });
  route.thread = RouteThread::network;
  route.scope = KeyScope::any;
  return route;
}

}  // namespace ruv
