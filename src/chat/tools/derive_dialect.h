// Makes a dialect from one rendered answer with two known calls, for formats that no table knows.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "chat/tools/tool_dialect.h"
#include "chat/tools/tool_message.h"

namespace ruv {

// `answer`: what a template wrote for the two calls; the first has two arguments, a text and then a
// number, the second one. `turn_end`: what the template writes after every answer. The result is
// a guess: the caller must parse the answer with it. None: the calls have another shape.
std::optional<ToolDialect> derive_dialect(std::string_view answer, std::string_view turn_end,
                                          std::span<const ToolCall> calls);

}  // namespace ruv
