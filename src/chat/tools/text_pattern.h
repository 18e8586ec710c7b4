// Patterns of JSON schemas as regular expressions of Lark grammars.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ruv {

// An expression that matches, as a whole, the texts in which the ECMAScript pattern matches
// somewhere. None: the pattern has what the two syntaxes do not share (anchors but at the ends,
// lookaround, back references, \s, \b, \u and properties).
std::optional<std::string> text_pattern(std::string_view pattern);

}  // namespace ruv
