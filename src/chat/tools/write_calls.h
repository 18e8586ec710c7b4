// Writes reasoning, text and calls as a dialect has them: the reverse of the parser, from the same
// description.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "base/result.h"
#include "chat/tools/tool_dialect.h"
#include "chat/tools/tool_message.h"

namespace ruv {

// The calls as the model would write them. Fails: invalid (arguments are not a JSON object; a text
// that the dialect cannot hold, such as an end tag followed by another; several calls where it has
// one).
Result<std::string> write_calls(const ToolDialect& dialect, std::span<const ToolCall> calls);

// One value in the syntax of literals. Recursive as Json is, whose depth is limited.
void write_literal(const LiteralArguments& syntax, const Json& value, std::string& out);

// Letters, digits and '_': literals write other keys of arguments as texts.
bool is_bare_key(std::string_view key);

}  // namespace ruv
