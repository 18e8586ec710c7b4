// The fields of a chat request that are about tools and reasoning.
#pragma once

#include <string>

#include "base/json_fwd.h"
#include "net/api_error.h"
#include "net/openai/generate_request.h"

namespace ruv {

// tools, tool_choice, parallel_tool_calls, reasoning_effort and reasoning_format, into a request
// whose conversation has been read. Fails: 400, naming the field.
ApiResult<void> read_tool_use(const Json& body, GenerateRequest& request);

// The calls of an assistant's message. `where` names them.
ApiResult<void> check_calls(const Json& calls, const std::string& where);

}  // namespace ruv
