// GET /v1/models and GET /v1/models/{id}; POST /models/load and /models/unload.
#include "base/json.h"
#include "net/openai/api_route.h"
#include "net/openai/generate_request.h"
#include "net/openai/routes.h"
#include "net/openai/vector_job.h"

namespace ruv {
namespace {

// Members of a model that makes vectors.
Json embedding_json(const OpenAiService& service, const EmbedInfo& info) {
  Json prompts = Json::array();
  for (const auto& [name, text] : info.prompts) prompts.push_back(name);
  return {{"dimensions", info.n_dims},
          {"max_tokens", most_embed_tokens(service)},
          {"pooling", pooling_name(info.pooling)},
          {"pooling_is_stated", info.pooling_is_stated},
          {"normalize", info.normalises},
          {"prompts", std::move(prompts)},
          {"default_prompt", info.default_prompt}};
}

// The model as OpenAI's API describes one, and as llama.cpp's server says whether it is loaded.
Json model_object(const ServedModels& models, const ModelState& state) {
  const std::string& name = state.names.front();
  Json status = {{"value", phase_name(state.phase)}};
  if (!state.failure.empty()) status["error"] = state.failure;
  if (state.expires) status["expires"] = *state.expires;
  Json object = {{"id", name},
                 {"object", "model"},
                 {"created", state.created},
                 {"owned_by", "ruvllm"},
                 {"status", std::move(status)}};
  const auto lease = models.loaded(name);
  if (!lease) return object;
  const Result<EmbedInfo>& info = (*lease)->text->embed_info();
  if (info) object["embedding"] = embedding_json(**lease, *info);
  return object;
}

// An adapter, which requests may name as their model, as vLLM lists one.
Json adapter_model(const OpenAiService& service, const AdapterRecord& record) {
  return {{"id", record.name},
          {"object", "model"},
          {"created", service.created},
          {"owned_by", "ruvllm"},
          {"parent", service.names.front()}};
}

HttpResponse listed_models(const ServedModels& models) {
  Json data = Json::array();
  for (const ModelState& state : models.list()) {
    data.push_back(model_object(models, state));
    const auto lease = models.loaded(state.names.front());
    if (!lease || (*lease)->adapters == nullptr) continue;
    for (const AdapterRecord& record : (*lease)->adapters->list()) {
      data.push_back(adapter_model(**lease, record));
    }
  }
  return {.body = Json{{"object", "list"}, {"data", std::move(data)}}.dump()};
}

HttpResponse show_model(const ServedModels& models, std::string_view name) {
  const std::vector<ModelState> states = models.list();
  for (const ModelState& state : states) {
    if (is_named(state.names, name)) return {.body = model_object(models, state).dump()};
  }
  const auto lease = models.loaded(std::string(name));
  if (lease && (*lease)->adapters != nullptr) {
    for (const AdapterRecord& record : (*lease)->adapters->list()) {
      if (record.name == name) return {.body = adapter_model(**lease, record).dump()};
    }
  }
  return error_response(no_such_model(name, states));
}

ApiResult<std::string> named_model(const Json& body) {
  if (find_field(body, "model") == nullptr) return missing_field("model");
  return read_model(body);
}

// Answers when the model is unloaded, or at once where it was not loaded.
ApiResult<void> unload_model(ServedModels& models, const ServerCall& call,
                             const std::shared_ptr<Reply>& reply) {
  const std::string name = TRY(named_model(call.body));
  models.unload(name, [reply, name](const ApiResult<void>& done) {
    if (!done) return send_response(reply, error_response(done.error()));
    send_response(reply, {.body = Json{{"success", true}, {"model", name}}.dump()});
  });
  return {};
}

// The route has waited for the model.
ApiResult<void> show_loaded(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  TRY(named_model(call.body));
  send_response(reply,
                {.body = Json{{"success", true}, {"model", call.service.names.front()}}.dump()});
  return {};
}

}  // namespace

std::vector<Route> model_routes(ServedModels& models) {
  std::vector<Route> routes{
      simple_route("GET", "/v1/models",
                   [&models](const HttpRequest&) { return listed_models(models); }),
      simple_route("GET", "/v1/models/{id}", [&models](const HttpRequest& request) {
        return show_model(models, request.path_tail);
      })};
  for (Route& route : routes) {
    route.thread = RouteThread::network;
    route.scope = KeyScope::any;
  }
  routes.push_back(api_route(models, "POST", "/v1/models/load", model_fields(), show_loaded));
  routes.push_back(
      server_route(models, "POST", "/v1/models/unload", model_fields(),
                   [&models](const ServerCall& call, const std::shared_ptr<Reply>& reply) {
                     return unload_model(models, call, reply);
                   }));
  for (size_t i = 2; i < routes.size(); ++i) routes[i].scope = KeyScope::manage;
  return routes;
}

}  // namespace ruv
