// The regular expressions of response templates that are no more than marks with names between
// them, such as `\s*<tool_call>\s*<function=(?P<name>[^>\n]+)>`. Others have no counterpart in a
// ToolDialect.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ruv {

struct PatternPiece {
  enum class Kind : uint8_t {
    text,     // this text
    space,    // whitespace, any or none
    capture,  // a named group, up to what follows it
  };
  Kind kind = Kind::text;
  std::string text = {};  // of a text, and a capture's name

  bool operator==(const PatternPiece&) const = default;
};

// Reads a pattern in Python's syntax: characters, escaped ones, `\n`, `\s*`, and named groups of
// one class that repeats, `(?P<name>[^>]+)`, or of a lazy dot. Neighbouring texts are one piece.
// Linear in the pattern's length. Fails: unsupported, with the byte where it has anything else.
Result<std::vector<PatternPiece>> read_response_pattern(std::string_view pattern);

}  // namespace ruv
