// JSON values and the checked way to read them. Object members keep the order of the text, which
// templates and schemas rely on. Include base/json_fwd.h where only the name is needed: this header
// is slow to compile.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "base/result.h"

namespace ruv {

// Parses a whole text. `source` is quoted in errors together with the byte offset. Nesting deeper
// than `max_depth` is refused before parsing, so hostile text cannot exhaust the stack.
// Fails: corrupt.
Result<Json> parse_json(std::string_view text, std::string_view source, int max_depth = 128);

}  // namespace ruv
