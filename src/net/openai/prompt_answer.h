// The answers to raw prompts, whichever API asks.
#pragma once

#include "net/openai/answer_writer.h"
#include "net/openai/api_route.h"
#include "net/openai/generate_request.h"

namespace ruv {

// Fails before it has had any effect, with 400 or 404, naming a field of /v1/completions.
ApiResult<void> answer_prompts(const ApiCall& call, GenerateRequest request, MakeWriter make_writer,
                               const std::shared_ptr<Reply>& reply);

}  // namespace ruv
