// OpenAiService: what the API routes share, and the routes themselves. Constant while the server
// runs; `engine` and `text` must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "net/api_error.h"
#include "net/http/router.h"
#include "net/http/workers.h"
#include "net/model_text.h"
#include "ruv/engine.h"

namespace ruv {

class Metrics;
class ResponseStore;
class SessionKeeper;

struct OpenAiService {
  Engine* engine = nullptr;
  const ModelText* text = nullptr;
  // Names of the model: the first appears in answers, requests may use any.
  std::vector<std::string> names;
  int64_t created = 0;  // unix seconds when the model was loaded
  std::function<int64_t()> unix_time;
  // 24 characters, different each time. Called on the network thread only.
  std::function<std::string()> unique_name;
  // What the server counts; null: nothing. Used on the network thread only.
  std::shared_ptr<Metrics> metrics = {};
  // Answers that later requests may continue.
  std::shared_ptr<ResponseStore> responses = {};
  SessionKeeper* sessions = nullptr;  // null: none are kept
  int64_t max_sequences = 0;          // answers that are generated at the same time
  // What requests sample with where they say nothing.
  GenerateParams usual = {};
  // Fields that are unknown or not supported are dropped and named, instead of refused.
  bool lenient = false;
  // A thread for what is computed when the engine is done: neither its thread nor the network's may
  // wait for that.
  std::shared_ptr<Workers> beside = {};
};

// A service with the system's clock and random names.
OpenAiService make_service(Engine& engine, const ModelText& text, std::vector<std::string> names);

// All endpoints. `service` must outlive the server that gets them.
std::vector<Route> api_routes(const OpenAiService& service);

Route chat_completions_route(const OpenAiService& service);
Route completions_route(const OpenAiService& service);
Route embeddings_route(const OpenAiService& service);
// /rerank and /score, also under /v1, and /v2/rerank.
std::vector<Route> rank_routes(const OpenAiService& service);
// /tokenize, /detokenize and /apply-template; the first two also under /v1.
std::vector<Route> text_routes(const OpenAiService& service);
// /v1/sessions: list, show, write and delete.
std::vector<Route> session_routes(const OpenAiService& service);
// One route each; health_route and stats_route run on the network thread.
Route list_models_route(const OpenAiService& service);
Route get_model_route(const OpenAiService& service);
Route stats_route(const OpenAiService& service);
Route health_route(const OpenAiService& service);
Route ready_route(const OpenAiService& service);
Route metrics_route(const OpenAiService& service);
// /props and /version.
std::vector<Route> props_routes(const OpenAiService& service);
// What these routes take, as OpenAPI 3.1 says it.
Route openapi_route(const std::vector<Route>& routes);

// Empty: the server's own. Fails: 404 model_not_found.
ApiResult<void> check_model(const OpenAiService& service, const std::string& name);
// Fails: 503 cancelled if the answer is no longer wanted. Routes call it between the parts of their
// work.
ApiResult<void> check_awaited(const HttpRequest& request);

}  // namespace ruv
