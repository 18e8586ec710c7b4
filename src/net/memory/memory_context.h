// A block of text for a model's prompt: chunks that were found, numbered, so that an answer can
// cite them as [1], and the list of what the numbers mean.
#pragma once

#include "net/memory/memory_query.h"

namespace ruv {

struct ContextLimits {
  int64_t max_bytes = 16'384;
  int64_t max_tokens = 0;  // 0: no limit
  std::string model;       // whose tokens they are
};
// max_bytes, max_tokens and model of a body. Fails: 400.
ApiResult<ContextLimits> read_context_limits(const Json& body);

// The chunks, best first, as long as each fits as a whole; one that does not is left out and
// counted. `text`: of the model that counts tokens; null: none are counted. Fails: as it.
ApiResult<HttpResponse> context_answer(const StoreFindings& findings, const ContextLimits& limits,
                                       const ModelText* text);

// A chunk as searches show it.
Json found_json(const FoundChunk& chunk);

}  // namespace ruv
