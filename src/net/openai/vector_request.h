// The texts of a request for vectors, whichever API asks.
#pragma once

#include "net/openai/api_route.h"
#include "net/openai/vector_job.h"

namespace ruv {

// `body` has the fields of /v1/embeddings. Fails: 400 or 404, naming one of them.
ApiResult<VectorRequest> read_vector_request(const ApiCall& call, const Json& body);

}  // namespace ruv
