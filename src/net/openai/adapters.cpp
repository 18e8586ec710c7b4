// GET /lora-adapters, as llama.cpp's server lists adapters, and POST /v1/load_lora_adapter and
// /v1/unload_lora_adapter, as vLLM has them.
#include "base/json.h"
#include "base/path_inside.h"
#include "net/openai/adapter_choice.h"
#include "net/openai/api_route.h"
#include "net/openai/routes.h"
#include "net/openai/vector_job.h"

namespace ruv {
namespace {

Json adapter_object(const AdapterRecord& record) {
  return {{"id", id_of(record)},
          {"name", record.name},
          {"generation", record.generation},
          {"container", record.info.container},
          {"base", record.info.base},
          {"rank", record.info.max_rank},
          {"matrices", record.info.n_matrices},
          {"parameters", record.info.n_params},
          {"in_memory", record.in_memory}};
}

// The adapters of the model that the query names, or of the first.
HttpResponse listed_adapters(const ServedModels& models, const HttpRequest& http) {
  const auto lease = models.loaded(asked_in_query(http));
  if (!lease) return error_response(lease.error());
  Json list = Json::array();
  if ((*lease)->adapters != nullptr) {
    for (const AdapterRecord& record : (*lease)->adapters->list()) {
      list.push_back(adapter_object(record));
    }
  }
  return {.body = list.dump()};
}

ApiResult<std::string> required_text(const Json& body, const char* field) {
  const Json* const value = find_field(body, field);
  if (value == nullptr) return missing_field(field);
  if (!value->is_string()) return wrong_type(field, "a string", *value);
  return value->get<std::string>();
}

ApiResult<AdapterCondition> read_condition(const Json& body) {
  AdapterCondition condition;
  if (find_field(body, "expected_generation") != nullptr) {
    condition.generation =
        static_cast<uint64_t>(TRY(read_integer(body, "expected_generation", 0, {0, INT64_MAX})));
  }
  condition.may_replace = TRY(read_flag(body, "load_inplace", false));
  return condition;
}

ApiResult<AdapterRegistry*> registry_of(const OpenAiService& service) {
  if (service.adapters != nullptr) return service.adapters;
  return tl::unexpected(
      api_error(Status(Code::unsupported, "adapters: the server keeps none for this model")));
}

ApiError forbidden_path(std::string message) {
  return {403, "permission_error", std::move(message), "lora_path", "forbidden_path"};
}

// The path that the server may read for a client. Fails: 403 where it is not in the folder that the
// server was given.
ApiResult<std::string> allowed_path(const OpenAiService& service, const std::string& path) {
  if (service.adapter_folder.empty()) {
    return tl::unexpected(forbidden_path(
        "adapters cannot be loaded over HTTP: start the server with --lora-dir DIR, and give paths "
        "in it"));
  }
  auto inside = path_inside(service.adapter_folder, path);
  if (inside) return *std::move(inside);
  if (inside.error().code() == Code::not_found) return tl::unexpected(api_error(inside.error()));
  return tl::unexpected(forbidden_path(inside.error().message()));
}

ApiResult<void> load_adapter_of(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  AdapterRegistry& registry = *TRY(registry_of(call.service));
  const std::string name = TRY(required_text(call.body, "lora_name"));
  const std::string asked = TRY(required_text(call.body, "lora_path"));
  const std::string path = TRY(allowed_path(call.service, asked));
  const AdapterCondition condition = TRY(read_condition(call.body));
  if (is_named(call.service.names, name)) {
    return tl::unexpected(
        bad_request("lora_name", fmt::format("'lora_name': '{}' is the name of the model", name)));
  }
  const Result<AdapterRecord> loaded = registry.load(name, path, condition);
  if (!loaded) return tl::unexpected(api_error(loaded.error()));
  Json body = {{"success", true}};
  body["adapter"] = adapter_object(*loaded);
  send_response(reply, {.body = body.dump()});
  return {};
}

ApiResult<void> unload_adapter_of(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  AdapterRegistry& registry = *TRY(registry_of(call.service));
  const std::string name = TRY(required_text(call.body, "lora_name"));
  const AdapterCondition condition = TRY(read_condition(call.body));
  if (const Status done = registry.unload(name, condition); !done.ok()) {
    return tl::unexpected(api_error(done));
  }
  send_response(reply, {.body = Json{{"success", true}, {"name", name}}.dump()});
  return {};
}

}  // namespace

std::vector<Route> adapter_routes(ServedModels& models) {
  std::vector<Route> routes{
      simple_route("GET", "/lora-adapters",
                   [&models](const HttpRequest& http) { return listed_adapters(models, http); }),
      api_route(models, "POST", "/v1/load_lora_adapter", load_adapter_fields(), load_adapter_of),
      api_route(models, "POST", "/v1/unload_lora_adapter", unload_adapter_fields(),
                unload_adapter_of)};
  routes[0].scope = KeyScope::any;
  routes[1].scope = routes[2].scope = KeyScope::manage;
  return routes;
}

}  // namespace ruv
