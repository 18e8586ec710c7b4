// Where a model thinks in its answers, for requests that limit it or ask for a form of what
// follows.
#pragma once

#include <optional>
#include <string_view>

#include "chat/tools/answer_format.h"
#include "net/openai/generate_request.h"

namespace ruv {

// Nothing: the request asks for nothing of the kind, or the model does not think. `prompt_tail`:
// the end of the prompt. Fails: 400 naming the field where the end of the model's reasoning cannot
// be told from its text.
ApiResult<std::optional<ReasoningRegion>> reasoning_region(const AnswerFormat& format,
                                                           const GenerateRequest& request,
                                                           std::string_view prompt_tail);

}  // namespace ruv
