// GET /props: what a client may want to know of this server, under llama.cpp's names where it has
// them. GET /version.
#include "base/json.h"
#include "net/openai/routes.h"
#include "ruv/options.h"
#include "ruv/version.h"

namespace ruv {
namespace {

Json value_json(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) return *texts;
  return nullptr;
}

// What requests sample with where they say nothing.
Json sampling_json(const GenerateParams& params) {
  Json json = Json::object();
  for (const OptionRow& row : generate_options()) {
    if (row.is_sampling) json[row.name] = value_json(row.get(params));
  }
  return json;
}

HttpResponse props(const OpenAiService& service) {
  const ModelInfo& info = service.text->info();
  const AnswerFormat& format = service.text->format();
  const int64_t n_ctx = service.engine->n_ctx();
  const Json json = {
      {"default_generation_settings", {{"n_ctx", n_ctx}, {"params", sampling_json(service.usual)}}},
      {"total_slots", service.max_sequences},
      {"model_alias", service.names.front()},
      {"build_info", std::string("ruvllm ") + RUV_VERSION},
      {"modalities", {{"vision", false}, {"audio", false}}},
      {"n_ctx", n_ctx},
      {"n_ctx_train", info.n_ctx_train},
      {"architecture", info.architecture},
      {"weight_format", info.format},
      {"kv_type", kv_type_name(service.engine->kv_stats().type)},
      {"isa", info.isa},
      {"sampling_from_model", !info.sampling.empty() || !info.defaults.sampling.empty()},
      {"has_chat_template", info.has_chat_template},
      {"tools", format.has_calls},
      {"reasoning", !format.dialect.reasoning.end.empty()},
      {"lenient", service.lenient}};
  return {.body = json.dump()};
}

}  // namespace

std::vector<Route> props_routes(ServedModels& models) {
  std::vector<Route> routes{
      simple_route("GET", "/props",
                   [&models](const HttpRequest& request) {
                     const auto lease = models.loaded(asked_in_query(request));
                     return lease ? props(**lease) : error_response(lease.error());
                   }),
      simple_route("GET", "/version", [](const HttpRequest&) {
        return HttpResponse{.body = Json{{"version", RUV_VERSION}}.dump()};
      })};
  for (Route& route : routes) {
    route.thread = RouteThread::network;
    route.scope = KeyScope::any;
  }
  return routes;
}

}  // namespace ruv
