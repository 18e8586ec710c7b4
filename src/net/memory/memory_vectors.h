// Vectors of the texts of a memory's request, by the server's engine, and the answer that is made
// with them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/memory/served_memory.h"
#include "net/models/served_models.h"

namespace ruv {

// A request that reached the memory. All that it names outlives the answer.
struct MemoryRequest {
  ServedModels& models;
  ServedMemory& memory;
  std::string tenant;
  std::shared_ptr<Reply> reply;
  std::string id = {};  // of the request
};

// The memory of a server. Fails: 400 memory_off, naming the option.
ApiResult<ServedMemory*> memory_of(const ServerParts& server);
// A failure of the memory's files, without the folder in which they are.
ApiError memory_error(const ServedMemory& memory, const Status& status);

template <class T>
ApiResult<T> remembered(const ServedMemory& memory, Result<T> result) {
  if (!result) return tl::unexpected(memory_error(memory, result.error()));
  return std::move(*result);
}
inline ApiResult<void> remembered(const ServedMemory& memory, const Status& status) {
  if (!status.ok()) return tl::unexpected(memory_error(memory, status));
  return {};
}

struct EmbeddedTexts {
  MemoryStore::Kind kind;                   // of the model
  std::vector<std::vector<float>> vectors;  // of n_dims numbers each, in the order of the texts
  int64_t n_tokens = 0;
  double vector_weight = 1;  // how much they are trusted beside words
};

enum class TextPurpose : uint8_t { document, query };

// Texts of which vectors are wanted, and what is done with these on one of `workers`.
struct EmbedJob {
  std::vector<std::string> texts;
  TextPurpose purpose = TextPurpose::document;
  // Texts that follow those, with the purpose of queries.
  std::vector<std::string> queries = {};
  Workers* workers = nullptr;
  std::function<ApiResult<HttpResponse>(EmbeddedTexts)> answer;
};

// Makes the job of a loaded model, which cuts texts by its tokens, say.
using MakeEmbedJob = std::function<ApiResult<EmbedJob>(const OpenAiService&)>;

// Loads the model that embeds, if need be, calls `make` on a thread that may compute, and answers
// with what the job gives. Returns at once. `n_bytes`: of the request, which waits.
void embed_and_answer(const MemoryRequest& call, uint64_t n_bytes, MakeEmbedJob make);

// Sends the answer or the error. Any thread.
void send_result(const std::shared_ptr<Reply>& reply, const ApiResult<HttpResponse>& result);

}  // namespace ruv
