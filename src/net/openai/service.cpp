#include "net/openai/service.h"

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/entropy.h"
#include "net/anthropic/messages.h"
#include "net/metrics.h"
#include "net/ollama/ollama.h"
#include "net/responses/responses.h"

namespace ruv {
namespace {

// 24 random letters and digits, which cannot be guessed: a client that knows the name of an answer
// may continue it.
std::string random_name() {
  constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::string name;
  for (int half = 0; half < 2; ++half) {
    uint64_t number = draw_entropy();
    for (int i = 0; i < 12; ++i) {
      name += kLetters[number % kLetters.size()];
      number /= kLetters.size();
    }
  }
  return name;
}

}  // namespace

OpenAiService make_service(Engine& engine, const ModelText& text, std::vector<std::string> names) {
  return {.engine = &engine,
          .text = &text,
          .names = std::move(names),
          .created = unix_seconds(),
          .unix_time = unix_seconds,
          .unique_name = random_name,
          .metrics = std::make_shared<Metrics>(),
          .responses = std::make_shared<ResponseStore>(),
          .beside = std::make_shared<Workers>(1)};
}

// Every endpoint of the server.
std::vector<Route> api_routes(const OpenAiService& service) {
  std::vector<Route> routes{
      chat_completions_route(service), completions_route(service), embeddings_route(service),
      list_models_route(service),      get_model_route(service),   stats_route(service),
      health_route(service),           ready_route(service),       metrics_route(service)};
  for (Route& route : props_routes(service)) routes.push_back(std::move(route));
  for (Route& route : rank_routes(service)) routes.push_back(std::move(route));
  for (Route& route : text_routes(service)) routes.push_back(std::move(route));
  for (Route& route : session_routes(service)) routes.push_back(std::move(route));
  for (Route& route : messages_routes(service)) routes.push_back(std::move(route));
  for (Route& route : ollama_routes(service)) routes.push_back(std::move(route));
  for (Route& route : responses_routes(service)) routes.push_back(std::move(route));
  routes.push_back(openapi_route(routes));
  return routes;
}

ApiResult<void> check_model(const OpenAiService& service, const std::string& name) {
  constexpr std::string_view kTag = ":latest";  // as Ollama's clients add it
  std::string_view bare = name;
  if (bare.ends_with(kTag)) bare.remove_suffix(kTag.size());
  if (bare.empty() || std::ranges::find(service.names, bare) != service.names.end()) return {};
  return tl::unexpected(
      ApiError{404, "invalid_request_error",
               fmt::format("no model '{}' here; this server has '{}'", name, service.names.front()),
               "model", "model_not_found"});
}

ApiResult<void> check_awaited(const HttpRequest& request) {
  if (!request.stop.stop_requested()) return {};
  return tl::unexpected(
      api_error(Status(Code::cancelled, "the client no longer waits for the answer")));
}

}  // namespace ruv
