// The routes of the server. `models` must outlive the server that gets them.
#pragma once

#include <vector>

#include "net/http/router.h"
#include "net/models/served_models.h"

namespace ruv {

// All of them.
std::vector<Route> api_routes(ServedModels& models);

Route chat_completions_route(ServedModels& models);
Route completions_route(ServedModels& models);
Route embeddings_route(ServedModels& models);
// /rerank and /score, also under /v1, and /v2/rerank.
std::vector<Route> rank_routes(ServedModels& models);
// /tokenize, /detokenize and /apply-template; the first two also under /v1.
std::vector<Route> text_routes(ServedModels& models);
// /v1/sessions: list, show, write and delete.
std::vector<Route> session_routes(ServedModels& models);
// /v1/models: list and show; /models/load and /models/unload.
std::vector<Route> model_routes(ServedModels& models);
// /lora-adapters, /v1/load_lora_adapter and /v1/unload_lora_adapter.
std::vector<Route> adapter_routes(ServedModels& models);
// /v1/feedback and /v1/feedback/undo.
std::vector<Route> feedback_routes(ServedModels& models);
// One route each; health_route and stats_route run on the network thread.
Route stats_route(ServedModels& models);
Route health_route(ServedModels& models);
Route ready_route(ServedModels& models);
Route metrics_route(ServedModels& models);
// The first reason why a loaded model takes no requests, as /ready gives it; ok: none has one.
Status served_condition(const ServedModels& models);
// /props and /version.
std::vector<Route> props_routes(ServedModels& models);
// "/", and what the page there consists of.
std::vector<Route> page_routes(ServedModels& models);
// What these routes take, as OpenAPI 3.1 says it.
Route openapi_route(const std::vector<Route>& routes);

}  // namespace ruv
