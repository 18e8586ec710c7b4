// A model's "response_template": how it writes reasoning and calls, as the model's own files
// declare it (tokenizer_config.json, read by transformers from 5.13 on). It is turned into the
// same description that is otherwise found from the chat template.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "chat/tools/tool_dialect.h"

namespace ruv {

// What a response template says. Its marks are not checked against the chat template.
struct DeclaredFormat {
  std::optional<ToolDialect> calls;  // none: it says nothing of calls
  ReasoningMarks reasoning;          // without an end: it says nothing of reasoning
};

// Reads the template's JSON text; an empty one declares nothing. Fails: corrupt (no JSON),
// unsupported, with the member's path: another version, an unknown member or field, and what a
// ToolDialect cannot hold (a pattern with choices, several texts for a mark, calls that are lines
// of keys and values).
Result<DeclaredFormat> read_response_template(std::string_view json);

}  // namespace ruv
