// Whether calls of tools are the expected ones, by the rules with which the Berkeley Function
// Calling Leaderboard compares them ("AST"): names, required arguments, types, and for each
// argument a list of values that count as right.
#pragma once

#include <span>

#include "base/json_fwd.h"
#include "base/result.h"
#include "chat/tools/tool_message.h"

namespace ruv {

// `expected`: a list of objects with one member, a function's name with its arguments; each
// argument has a list of its right values, in which an empty text says that it may be absent. Calls
// may come in any order, and there are as many as expected. `functions`: a list of {"name",
// "parameters"}, a JSON schema with the types of JSON. Texts are compared without spaces and some
// marks and in lower case, numbers by value; an integer counts where a number is asked for.
// Requires: the shapes of check_expected_calls().
bool calls_are_expected(std::span<const ToolCall> calls, const Json& expected,
                        const Json& functions);

// Fails: corrupt (`expected` has another shape, or calls a function that there is not).
Status check_expected_calls(const Json& expected, const Json& functions);

}  // namespace ruv
