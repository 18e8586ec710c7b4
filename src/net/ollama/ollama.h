// Ollama's API, under /api: its requests are read as chat requests, raw prompts and embeddings, its
// answers are written as its clients read them, a JSON object a line.
#pragma once

#include "net/openai/answer_writer.h"
#include "net/openai/fields.h"
#include "net/openai/routes.h"

namespace ruv {

// The fields of POST /api/chat, /api/generate, /api/embed, /api/embeddings and /api/show.
const BodyTable& ollama_chat_fields();
const BodyTable& ollama_generate_fields();
const BodyTable& ollama_embed_fields();
const BodyTable& ollama_old_embed_fields();
const BodyTable& ollama_show_fields();
// The members of `options`.
std::span<const FieldRow> ollama_options();

// The body of a chat request that asks the same, or with `raw` of a request for raw prompts.
// Require: a checked body. Fail: 400, naming the field.
ApiResult<Json> chat_of_ollama(const Json& body, int64_t n_ctx);
ApiResult<Json> chat_of_generate(const Json& body, int64_t n_ctx);
ApiResult<Json> raw_of_generate(const Json& body, int64_t n_ctx);
// The `options` of a request for vectors. Requires: a checked body. Fails: 400 for an unknown one,
// and for a num_ctx above n_ctx.
ApiResult<void> check_vector_options(const Json& body, int64_t n_ctx);

// Which of the two routes an answer is for.
enum class OllamaRoute { chat, generate };
MakeWriter ollama_writer(OllamaRoute route);
// The answer to a request without messages or a prompt, which asks for the model to be loaded.
std::string ollama_loaded(OllamaRoute route, const std::string& model, int64_t unix_time);
// {"error": message}.
HttpResponse ollama_error(const ApiError& error);
// "2026-11-25T12:00:00Z".
std::string iso_time(int64_t unix_time);

std::vector<Route> ollama_routes(ServedModels& models);

}  // namespace ruv
