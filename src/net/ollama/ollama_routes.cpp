// The routes under /api, and "/", where clients look whether a server is there.
#include "base/json.h"
#include "net/ollama/ollama.h"
#include "net/openai/chat_answer.h"
#include "net/openai/prompt_answer.h"
#include "net/openai/vector_request.h"
#include "ruv/options.h"
#include "ruv/version.h"

namespace ruv {
namespace {

// A body that asks for nothing but the model.
ApiResult<void> answer_loaded(const ApiCall& call, OllamaRoute route,
                              const std::shared_ptr<Reply>& reply) {
  TRY(check_model(call.service, TRY(read_model(call.body))));
  send_response(
      reply, {.body = ollama_loaded(route, call.service.names.front(), call.service.unix_time())});
  return {};
}

// Without messages a client only wants the model to be there.
ApiResult<void> answer_ollama_chat(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  const Json* messages = find_field(call.body, "messages");
  if (messages == nullptr || *messages == Json::array()) {
    return answer_loaded(call, OllamaRoute::chat, reply);
  }
  const Json chat = TRY(chat_of_ollama(call.body, call.service.engine->n_ctx()));
  return answer_conversation(call, TRY(read_chat_request(chat, call.service.usual)),
                             ollama_writer(OllamaRoute::chat), reply);
}

// As a chat, or with "raw" as a prompt without a template.
ApiResult<void> answer_generate(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  if (find_field(call.body, "prompt") == nullptr) {
    return answer_loaded(call, OllamaRoute::generate, reply);
  }
  const int64_t n_ctx = call.service.engine->n_ctx();
  MakeWriter writer = ollama_writer(OllamaRoute::generate);
  const bool has_gap = find_field(call.body, "suffix") != nullptr;
  if (has_gap || TRY(read_flag(call.body, "raw", false))) {
    const Json raw = TRY(raw_of_generate(call.body, n_ctx));
    return answer_prompts(call, TRY(read_completion_request(raw, call.service.usual)),
                          std::move(writer), reply);
  }
  const Json chat = TRY(chat_of_generate(call.body, n_ctx));
  return answer_conversation(call, TRY(read_chat_request(chat, call.service.usual)),
                             std::move(writer), reply);
}

// Each number as the float64 that equals it.
Json numbers_json(const Embedding& vector) {
  Json list = Json::array();
  for (const float x : vector.numbers) list.push_back(double{x});
  return list;
}

// Vectors of `texts`, written by `write` on the thread that made them.
ApiResult<void> answer_vectors(const ApiCall& call, const Json& texts,
                               std::function<Json(const VectorResult&)> write,
                               const std::shared_ptr<Reply>& reply) {
  VectorRequest request = TRY(read_vector_request(call, texts));
  compute_vectors(call.service, std::move(request), reply,
                  [reply, write = std::move(write)](const VectorResult& result) {
                    send_response(reply, {.body = write(result).dump()});
                  });
  return {};
}

// Longer texts are cut unless the request says otherwise, as Ollama does.
ApiResult<void> answer_embed(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  Json texts = Json::object();
  for (const char* name : {"model", "input", "dimensions"}) {
    if (const Json* value = find_field(call.body, name)) texts[name] = *value;
  }
  if (TRY(read_flag(call.body, "truncate", true))) texts["truncate_prompt_tokens"] = -1;
  const auto write = [model = call.service.names.front()](const VectorResult& result) {
    Json list = Json::array();
    for (const Embedding& vector : result.vectors) list.push_back(numbers_json(vector));
    return Json{{"model", model},
                {"embeddings", std::move(list)},
                {"prompt_eval_count", result.n_prompt_tokens}};
  };
  return answer_vectors(call, texts, write, reply);
}

// One vector, without a list around it.
ApiResult<void> answer_old_embed(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  const Json* prompt = find_field(call.body, "prompt");
  if (prompt == nullptr) return missing_field("prompt");
  if (!prompt->is_string()) return wrong_type("prompt", "a string", *prompt);
  Json texts = {{"input", *prompt}, {"truncate_prompt_tokens", -1}};
  if (const Json* model = find_field(call.body, "model")) texts["model"] = *model;
  const auto write = [](const VectorResult& result) {
    return Json{{"embedding", numbers_json(result.vectors.front())}};
  };
  return answer_vectors(call, texts, write, reply);
}

// "7.2M".
std::string parameter_text(int64_t n) {
  const auto count = static_cast<double>(n);
  return n >= 1'000'000'000 ? fmt::format("{:.1f}B", count / 1e9)
                            : fmt::format("{:.1f}M", count / 1e6);
}

// What Ollama's clients show of a model.
Json details_json(const ModelInfo& info) {
  std::string level = info.format;
  for (char& c : level) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return {{"parent_model", ""},
          {"family", info.architecture},
          {"families", {info.architecture}},
          {"parameter_size", parameter_text(info.n_params)},
          {"quantization_level", level}};
}

// The model in lists.
Json model_json(const OpenAiService& service) {
  const ModelInfo& info = service.text->info();
  return {{"name", service.names.front()},
          {"model", service.names.front()},
          {"modified_at", iso_time(service.created)},
          {"size", info.weight_bytes},
          {"details", details_json(info)}};
}

// In Ollama's words.
Json capabilities_json(const OpenAiService& service) {
  Json list = Json::array();
  const AnswerFormat& format = service.text->format();
  if (service.text->embed_info()) list.push_back("embedding");
  if (service.text->info().has_chat_template) list.push_back("completion");
  if (format.has_calls) list.push_back("tools");
  if (!format.dialect.reasoning.end.empty()) list.push_back("thinking");
  return list;
}

// Templates and licences are not shown: the file has them.
ApiResult<void> answer_show(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  const OpenAiService& service = call.service;
  const Json* name = find_field(call.body, "name");
  const std::string model = TRY(read_model(name == nullptr ? call.body : Json{{"model", *name}}));
  TRY(check_model(service, model));
  const ModelInfo& info = service.text->info();
  std::string parameters;
  for (const auto& [option, value] : info.sampling) {
    parameters += fmt::format("{} {}\n", option, value);
  }
  const std::string& family = info.architecture;
  const Json json = {{"parameters", parameters},
                     {"details", details_json(info)},
                     {"model_info",
                      {{"general.architecture", family},
                       {"general.parameter_count", info.n_params},
                       {family + ".context_length", info.n_ctx_train},
                       {family + ".block_count", info.n_layers},
                       {family + ".embedding_length", info.n_embd}}},
                     {"capabilities", capabilities_json(service)},
                     {"modified_at", iso_time(service.created)}};
  send_response(reply, {.body = json.dump()});
  return {};
}

}  // namespace

// Those that only copy numbers are answered on the network thread.
std::vector<Route> ollama_routes(const OpenAiService& service) {
  std::vector<Route> routes{
      simple_route("GET", "/api/tags",
                   [&service](const HttpRequest&) {
                     const Json list = {{"models", Json::array({model_json(service)})}};
                     return HttpResponse{.body = list.dump()};
                   }),
      simple_route(
          "GET", "/api/ps",
          [&service](const HttpRequest&) {
            Json model = model_json(service);
            model["context_length"] = service.engine->n_ctx();
            return HttpResponse{.body = Json{{"models", Json::array({std::move(model)})}}.dump()};
          }),
      simple_route("GET", "/api/version",
                   [](const HttpRequest&) {
                     return HttpResponse{.body = Json{{"version", RUV_VERSION}}.dump()};
                   }),
      simple_route("GET", "/", [](const HttpRequest&) {
        return HttpResponse{.content_type = "text/plain", .body = "RuvLLM is running\n"};
      })};
  for (Route& route : routes) route.thread = RouteThread::network;
  const auto add = [&](const char* path, const BodyTable& table, ApiAction action) {
    routes.push_back(api_route(service, "POST", path, table, std::move(action), ollama_error));
  };
  add("/api/chat", ollama_chat_fields(), answer_ollama_chat);
  add("/api/generate", ollama_generate_fields(), answer_generate);
  add("/api/embed", ollama_embed_fields(), answer_embed);
  add("/api/embeddings", ollama_old_embed_fields(), answer_old_embed);
  add("/api/show", ollama_show_fields(), answer_show);
  return routes;
}

}  // namespace ruv
