// The routes under /api.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include "base/json.h"
#include "net/ollama/ollama.h"
#include "net/openai/chat_answer.h"
#include "net/openai/prompt_answer.h"
#include "net/openai/vector_request.h"
#include "ruv/options.h"
#include "ruv/version.h"

namespace ruv {
namespace {

// "90s", "5m", "1h30m" in seconds, parts of a second rounded up.
std::optional<double> read_duration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  double sum = 0;
  bool has_part = false;
  while (!text.empty()) {
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc() || !(number >= 0)) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    constexpr std::pair<std::string_view, double> kUnits[] = {
        {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
    const auto* const unit =
        std::ranges::find_if(kUnits, [&](const auto& one) { return text.starts_with(one.first); });
    if (unit == std::end(kUnits)) return std::nullopt;
    text.remove_prefix(unit->first.size());
    sum += number * unit->second;
    has_part = true;
  }
  if (!has_part) return std::nullopt;
  return negative ? -sum : sum;
}

// The member keep_alive; none: the server's own.
ApiResult<KeepSeconds> read_keep_alive(const Json& body) {
  const Json* value = find_field(body, "keep_alive");
  if (value == nullptr) return KeepSeconds();
  std::optional<double> seconds;
  if (value->is_number()) seconds = value->get<double>();
  if (value->is_string()) seconds = read_duration(value->text());
  if (!seconds) {
    return tl::unexpected(bad_request(
        "keep_alive",
        "'keep_alive' must be a number of seconds or a duration as \"5m\" or \"1h30m\""));
  }
  constexpr double kLongest = 1e9;  // beyond 30 years
  if (*seconds < 0 || *seconds > kLongest) return KeepSeconds(-1);
  return KeepSeconds(static_cast<int64_t>(std::ceil(*seconds)));
}

// A body that asks for nothing but the model. How long that is kept is settled before the client
// hears of it.
ApiResult<void> answer_loaded(ServedModels& models, const ApiCall& call, OllamaRoute route,
                              const std::shared_ptr<Reply>& reply) {
  const KeepSeconds seconds = TRY(read_keep_alive(call.body));
  if (seconds) models.keep(call.service.names.front(), seconds);
  send_response(
      reply, {.body = ollama_loaded(route, call.service.names.front(), call.service.unix_time())});
  return {};
}

ApiResult<void> act_and_keep(ServedModels& models, const ApiAction& action, const ApiCall& call,
                             const std::shared_ptr<Reply>& reply) {
  const KeepSeconds seconds = TRY(read_keep_alive(call.body));
  TRY(action(call, reply));
  if (seconds) models.keep(call.service.names.front(), seconds);
  return {};
}

// The rest of a chat that has no messages, or only the system's; it says nothing, but must be
// right.
ApiResult<void> check_without_prompt(Json chat, const GenerateParams& usual) {
  chat["messages"] = Json::array({Json{{"role", "user"}, {"content", ""}}});
  TRY(read_chat_request(chat, usual));
  return {};
}

// Without messages a client only wants the model to be there.
ApiResult<void> answer_ollama_chat(ServedModels& models, const ApiCall& call,
                                   const std::shared_ptr<Reply>& reply) {
  const int64_t n_ctx = call.service.engine->n_ctx();
  const Json* messages = find_field(call.body, "messages");
  if (messages == nullptr || *messages == Json::array()) {
    Json body = call.body;
    body["messages"] = Json::array();
    TRY(check_without_prompt(TRY(chat_of_ollama(body, n_ctx)), call.service.usual));
    return answer_loaded(models, call, OllamaRoute::chat, reply);
  }
  const Json chat = TRY(chat_of_ollama(call.body, n_ctx));
  return answer_conversation(call, TRY(read_chat_request(chat, call.service.usual)),
                             ollama_writer(OllamaRoute::chat), reply);
}

// As a chat, or with "raw" as a prompt without a template.
ApiResult<void> answer_generate(ServedModels& models, const ApiCall& call,
                                const std::shared_ptr<Reply>& reply) {
  const int64_t n_ctx = call.service.engine->n_ctx();
  if (find_field(call.body, "prompt") == nullptr) {
    const Json* suffix = find_field(call.body, "suffix");
    if (suffix != nullptr && !suffix->is_string()) return wrong_type("suffix", "a string", *suffix);
    TRY(read_flag(call.body, "raw", false));
    TRY(check_without_prompt(TRY(chat_of_generate(call.body, n_ctx)), call.service.usual));
    return answer_loaded(models, call, OllamaRoute::generate, reply);
  }
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
  TRY(check_vector_options(call.body, call.service.engine->n_ctx()));
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

// A model in lists.
Json model_json(const ModelState& model) {
  return {{"name", model.names.front()},
          {"model", model.names.front()},
          {"modified_at", iso_time(model.created)},
          {"size", model.info.weight_bytes},
          {"details", details_json(model.info)}};
}

HttpResponse list_models(const ServedModels& models) {
  Json list = Json::array();
  for (const ModelState& model : models.list()) list.push_back(model_json(model));
  return {.body = Json{{"models", std::move(list)}}.dump()};
}

// A time that never comes, for models that stay.
constexpr int64_t kNever = 253402300799;  // 9999-12-31T23:59:59Z

// The loaded ones.
HttpResponse list_loaded(const ServedModels& models) {
  Json list = Json::array();
  for (const ModelState& model : models.list()) {
    const auto lease = models.loaded(model.names.front());
    if (!lease) continue;
    Json json = model_json(model);
    json["size"] = model.n_bytes;
    json["size_vram"] = 0;
    json["context_length"] = (*lease)->engine->n_ctx();
    json["expires_at"] = iso_time(model.expires.value_or(kNever));
    list.push_back(std::move(json));
  }
  return {.body = Json{{"models", std::move(list)}}.dump()};
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

// A line for each parameter that the model has of its own.
std::string parameters_text(const ModelInfo& info) {
  std::vector<std::pair<std::string, double>> sampling = info.defaults.sampling;
  for (const auto& one : info.sampling) {
    const bool is_there =
        std::ranges::any_of(sampling, [&](const auto& other) { return other.first == one.first; });
    if (!is_there) sampling.push_back(one);
  }
  std::string text;
  for (const auto& [option, value] : sampling) text += fmt::format("{} {}\n", option, value);
  for (const std::string& stop : info.defaults.stop)
    text += fmt::format("stop {}\n", Json(stop).dump());
  return text;
}

// Templates and licences are not shown: the file has them.
ApiResult<void> answer_show(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  const OpenAiService& service = call.service;
  const ModelInfo& info = service.text->info();
  const std::string& family = info.architecture;
  Json json = {{"parameters", parameters_text(info)},
               {"details", details_json(info)},
               {"model_info",
                {{"general.architecture", family},
                 {"general.parameter_count", info.n_params},
                 {family + ".context_length", info.n_ctx_train},
                 {family + ".block_count", info.n_layers},
                 {family + ".embedding_length", info.n_embd}}},
               {"capabilities", capabilities_json(service)},
               {"modified_at", iso_time(service.created)}};
  if (!info.defaults.system.empty()) json["system"] = info.defaults.system;
  send_response(reply, {.body = json.dump()});
  return {};
}

}  // namespace

// Those that only copy numbers are answered on the network thread.
std::vector<Route> ollama_routes(ServedModels& models) {
  std::vector<Route> routes{
      simple_route("GET", "/api/tags",
                   [&models](const HttpRequest&) { return list_models(models); }),
      simple_route("GET", "/api/ps", [&models](const HttpRequest&) { return list_loaded(models); }),
      simple_route("GET", "/api/version", [](const HttpRequest&) {
        return HttpResponse{.body = Json{{"version", RUV_VERSION}}.dump()};
      })};
  for (Route& route : routes) route.thread = RouteThread::network;
  const auto add = [&](const char* path, const BodyTable& table, ApiAction action) {
    const auto kept = [&models, action = std::move(action)](const ApiCall& call,
                                                            const std::shared_ptr<Reply>& reply) {
      return act_and_keep(models, action, call, reply);
    };
    Route& route = routes.emplace_back(api_route(models, "POST", path, table, kept, ollama_error));
    if (has_row(table, "stream")) route.types.back() = "application/x-ndjson";
  };
  add("/api/chat", ollama_chat_fields(), std::bind_front(answer_ollama_chat, std::ref(models)));
  add("/api/generate", ollama_generate_fields(),
      std::bind_front(answer_generate, std::ref(models)));
  add("/api/embed", ollama_embed_fields(), answer_embed);
  add("/api/embeddings", ollama_old_embed_fields(), answer_old_embed);
  add("/api/show", ollama_show_fields(), answer_show);
  return routes;
}

}  // namespace ruv
