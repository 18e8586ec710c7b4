#include "net/openai/service.h"

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/entropy.h"
#include "net/anthropic/messages.h"
#include "net/audit/audit_routes.h"
#include "net/llamacpp/infill.h"
#include "net/memory/memory_routes.h"
#include "net/memory/session_search.h"
#include "net/metrics.h"
#include "net/ollama/ollama.h"
#include "net/openai/routes.h"
#include "net/responses/background.h"
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

ServerParts make_server_parts() {
  return {.started = unix_seconds(),
          .unix_time = unix_seconds,
          .unique_name = random_name,
          .metrics = std::make_shared<Metrics>(),
          .responses = std::make_shared<ResponseStore>(),
          .background = std::make_shared<BackgroundResponses>(),
          .beside = std::make_shared<Workers>(1)};
}

OpenAiService make_service(const ServerParts& parts, Engine& engine, const ModelText& text,
                           std::vector<std::string> names) {
  OpenAiService service;
  static_cast<ServerParts&>(service) = parts;
  service.engine = &engine;
  service.text = &text;
  service.names = std::move(names);
  service.created = parts.unix_time();
  return service;
}

// Every endpoint of the server.
std::vector<Route> api_routes(ServedModels& models) {
  std::vector<Route> routes{chat_completions_route(models), completions_route(models),
                            embeddings_route(models),       stats_route(models),
                            health_route(models),           ready_route(models),
                            metrics_route(models),          infill_route(models)};
  for (const auto& more :
       {model_routes, props_routes, rank_routes, text_routes, session_routes, messages_routes,
        ollama_routes, responses_routes, page_routes, adapter_routes, feedback_routes,
        memory_routes, file_routes, vector_store_routes, file_batch_routes, session_search_routes,
        audit_routes}) {
    for (Route& route : more(models)) routes.push_back(std::move(route));
  }
  routes.push_back(openapi_route(routes));
  return routes;
}

ApiResult<void> check_awaited(const HttpRequest& request) {
  if (!request.stop.stop_requested()) return {};
  return tl::unexpected(
      api_error(Status(Code::cancelled, "the client no longer waits for the answer")));
}

}  // namespace ruv
