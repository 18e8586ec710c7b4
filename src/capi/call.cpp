// Requests as they run, and those that wait for the whole answer.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/json.h"
#include "capi/handles.h"
#include "capi/running_call.h"
#include "net/openai/fields.h"

namespace ruv {
namespace {

// A longer time does not limit anything.
constexpr int64_t kMostMilliseconds = int64_t{1} << 40;

LocalReply::Deadline deadline_after(int64_t milliseconds) {
  if (milliseconds < 0 || milliseconds > kMostMilliseconds) return std::nullopt;
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
}

std::string body_text(const char* body) { return body == nullptr ? "" : body; }

// The results are set to null before anything can fail, here and below.
CallResult<ruvllm_status> begin_call(ruvllm_model* model, const char* method, const char* path,
                                     const char* body, bool as_vectors, ruvllm_call** call) {
  TRY(check_given({{"call", call}}));
  *call = nullptr;
  TRY(check_given({{"model", model}, {"method", method}, {"path", path}}));
  *call = new ruvllm_call{{model->inner, method, path, body_text(body), as_vectors}};
  return RUVLLM_OK;
}

// The text stays in the call until the next part.
CallResult<ruvllm_status> next_part(ruvllm_call* call, int64_t timeout_ms, const char** data,
                                    size_t* size) {
  TRY(check_given({{"data", data}, {"size", size}}));
  *data = nullptr;
  *size = 0;
  TRY(check_given({{"call", call}}));
  const ruvllm_status status = TRY(call->inner.next(deadline_after(timeout_ms)));
  if (status != RUVLLM_OK) return status;
  *data = call->inner.data().c_str();
  *size = call->inner.data().size();
  return status;
}

// Waits without a limit; requests have `timeout_ms` of their own.
CallResult<ruvllm_status> whole_answer(ruvllm_model* model, const char* method, const char* path,
                                       const char* body, ruvllm_text** answer) {
  TRY(check_given({{"answer", answer}}));
  *answer = nullptr;
  TRY(check_given({{"model", model}, {"method", method}, {"path", path}}));
  RunningCall call(model->inner, method, path, body_text(body));
  std::string all;
  while (TRY(call.next(std::nullopt)) == RUVLLM_OK) {
    all += all.empty() ? "" : "\n";  // events of a stream, one a line
    all += call.data();
  }
  *answer = new_handle<ruvllm_text>(std::move(all));
  return RUVLLM_OK;
}

// The request as one whose text comes in pieces, or as a whole where no callback wants pieces. What
// is not a JSON object stays as it is, for the route to refuse.
CallResult<std::string> text_request(const char* request, bool is_chat, bool in_pieces) {
  auto body = parse_json(request, "request", {.depth = 100, .values = kMaxIdValues});
  if (!body || !body->is_object()) return std::string(request);
  for (const char* const name : {"n", "best_of"}) {
    const Json* const n = find_field(*body, name);
    if (n == nullptr || (n->is_number() && *n == Json(1))) continue;
    return tl::unexpected<CallError>(bad_request(
        name, fmt::format("'{}' must be 1 here: ruvllm_request gives several answers", name)));
  }
  for (const char* const name : {"tools", "functions"}) {
    const Json* const tools = is_chat ? find_field(*body, name) : nullptr;
    if (tools == nullptr || (tools->is_array() && tools->empty())) continue;
    return tl::unexpected<CallError>(bad_request(
        name,
        fmt::format("'{}': calls are not text; ruvllm_request and ruvllm_call_begin give them",
                    name)));
  }
  // Only streams have them.
  const bool has_options = find_field(*body, "stream_options") != nullptr;
  (*body)["stream"] = in_pieces || has_options;
  return body->dump();
}

// The text in a whole answer or in an event of a stream.
std::string text_in(std::string_view part, bool is_chat) {
  const auto json = parse_json(part, "answer");
  if (!json || !json->is_object()) return {};
  const Json& choice = (*json)["choices"].is_array() ? (*json)["choices"][0] : (*json)["choices"];
  if (!choice.is_object()) return {};
  const char* const message = choice.contains("message") ? "message" : "delta";
  const Json& holder = is_chat ? choice[message] : choice;
  const Json* const text = holder.is_object() ? holder.find(is_chat ? "content" : "text") : nullptr;
  return text != nullptr && text->is_string() ? std::string(text->text()) : std::string();
}

// An answer without a callback wakes this thread once, at its end. It is cancelled where
// the callback wants no more: the call is destroyed.
CallResult<ruvllm_status> text_answer(ruvllm_model* model, const char* request, bool is_chat,
                                      ruvllm_on_text on_text, void* user, ruvllm_text** answer) {
  TRY(check_given({{"answer", answer}}));
  *answer = nullptr;
  TRY(check_given({{"model", model}, {"request", request}}));
  const std::string body = TRY(text_request(request, is_chat, on_text != nullptr));
  RunningCall call(model->inner, "POST", is_chat ? "/v1/chat/completions" : "/v1/completions",
                   body);
  std::string all;
  while (TRY(call.next(std::nullopt)) == RUVLLM_OK) {
    const std::string piece = text_in(call.data(), is_chat);
    if (piece.empty()) continue;
    all += piece;
    if (on_text != nullptr && on_text(piece.data(), piece.size(), user) != 0) break;
  }
  *answer = new_handle<ruvllm_text>(std::move(all));
  return RUVLLM_OK;
}

// All rows in one block.
ruvllm_vectors* new_vectors(const VectorResult& made) {
  constexpr size_t kAlignment = 64;
  auto out = std::make_unique<ruvllm_vectors>();
  out->n_rows = made.vectors.size();
  out->n_columns = made.vectors.empty() ? 0 : made.vectors.front().numbers.size();
  out->n_tokens = made.n_prompt_tokens;
  const size_t n_bytes = out->n_rows * out->n_columns * sizeof(float);
  const size_t n_whole = (n_bytes / kAlignment + 1) * kAlignment;
  out->numbers.reset(static_cast<float*>(std::aligned_alloc(kAlignment, n_whole)));
  if (!out->numbers) throw std::bad_alloc();
  float* at = out->numbers.get();
  for (const Embedding& one : made.vectors) at = std::ranges::copy(one.numbers, at).out;
  return out.release();
}

// They are moved into the block once; the call keeps nothing of them.
CallResult<ruvllm_vectors*> take_vectors(RunningCall& call) {
  const std::optional<VectorResult> made = call.take_vectors();
  if (!made) {
    return tl::unexpected<CallError>(
        bad_request("call", "'call' has no vectors: it has not ended, or they were taken"));
  }
  return new_vectors(*made);
}

// A call for vectors gives no data: its first status is the last.
CallResult<ruvllm_status> embed_texts(ruvllm_model* model, const char* request,
                                      ruvllm_vectors** vectors) {
  TRY(check_given({{"vectors", vectors}}));
  *vectors = nullptr;
  TRY(check_given({{"model", model}, {"request", request}}));
  RunningCall call(model->inner, "POST", "/v1/embeddings", request, true);
  TRY(call.next(std::nullopt));
  *vectors = TRY(take_vectors(call));
  return RUVLLM_OK;
}

}  // namespace
}  // namespace ruv

extern "C" {

ruvllm_status ruvllm_generate(ruvllm_model* model, const char* request, ruvllm_on_text on_text,
                              void* user, ruvllm_text** answer, ruvllm_error** error) {
  return ruv::guarded(
      error, [&] { return ruv::text_answer(model, request, false, on_text, user, answer); });
}

ruvllm_status ruvllm_chat(ruvllm_model* model, const char* request, ruvllm_on_text on_text,
                          void* user, ruvllm_text** answer, ruvllm_error** error) {
  return ruv::guarded(
      error, [&] { return ruv::text_answer(model, request, true, on_text, user, answer); });
}

ruvllm_status ruvllm_request(ruvllm_model* model, const char* method, const char* path,
                             const char* body, ruvllm_text** answer, ruvllm_error** error) {
  return ruv::guarded(error, [&] { return ruv::whole_answer(model, method, path, body, answer); });
}

ruvllm_status ruvllm_call_begin(ruvllm_model* model, const char* method, const char* path,
                                const char* body, ruvllm_call** call, ruvllm_error** error) {
  return ruv::guarded(error,
                      [&] { return ruv::begin_call(model, method, path, body, false, call); });
}

ruvllm_status ruvllm_call_next(ruvllm_call* call, int64_t timeout_ms, const char** data,
                               size_t* size, ruvllm_error** error) {
  return ruv::guarded(error, [&] { return ruv::next_part(call, timeout_ms, data, size); });
}

void ruvllm_call_cancel(ruvllm_call* call) {
  if (call != nullptr) call->inner.cancel();
}

void ruvllm_call_free(ruvllm_call* call) { delete call; }

ruvllm_status ruvllm_embed(ruvllm_model* model, const char* request, ruvllm_vectors** vectors,
                           ruvllm_error** error) {
  return ruv::guarded(error, [&] { return ruv::embed_texts(model, request, vectors); });
}

ruvllm_status ruvllm_embed_begin(ruvllm_model* model, const char* request, ruvllm_call** call,
                                 ruvllm_error** error) {
  return ruv::guarded(error, [&]() -> ruv::CallResult<ruvllm_status> {
    TRY(ruv::check_given({{"request", request}}));
    return ruv::begin_call(model, "POST", "/v1/embeddings", request, true, call);
  });
}

ruvllm_status ruvllm_call_take_vectors(ruvllm_call* call, ruvllm_vectors** vectors,
                                       ruvllm_error** error) {
  return ruv::guarded(error, [&]() -> ruv::CallResult<ruvllm_status> {
    TRY(ruv::check_given({{"vectors", vectors}}));
    *vectors = nullptr;
    TRY(ruv::check_given({{"call", call}}));
    *vectors = TRY(ruv::take_vectors(call->inner));
    return RUVLLM_OK;
  });
}

}  // extern "C"
