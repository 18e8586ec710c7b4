// The rows of the table of dialects, by how they write arguments.
#pragma once

#include <vector>

#include "chat/tools/tool_dialect.h"

namespace ruv {

// Calls that are JSON objects with the name inside.
std::vector<ToolDialect> object_dialects();
// … that only the start of the answer tells from other text.
std::vector<ToolDialect> bare_dialects();
// A name and a JSON object.
std::vector<ToolDialect> named_json_dialects();
// Arguments between tags.
std::vector<ToolDialect> tagged_dialects();
// Arguments as literals of a programming language.
std::vector<ToolDialect> literal_dialects();
// Messages with headers.
std::vector<ToolDialect> channel_dialects();

// Parts of calls.
inline CallPart mark_part(const char* text) { return {CallPartKind::mark, text, false}; }
inline CallPart optional_part(const char* text) { return {CallPartKind::mark, text, true}; }
inline CallPart part_of(CallPartKind kind) { return {kind, {}, false}; }

}  // namespace ruv
