// The language of the substrings of a text: any neighbouring chunks of it, one after another.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "grammar/rules/bounded_languages.h"

namespace ruv {

// The chunks of an object of the Lark dialect: {"substring_chunks": […]} as they are,
// {"substring_chars": "…"} by characters, {"substring_words": "…"} by runs of letters, digits and
// '_', of spaces, and of others. Fails: unsupported (another key, or more than 64 KiB), corrupt
// (another kind of value).
Result<std::vector<std::string>> substring_chunks(const Json& object);

// Also the empty text. Time and nodes linear in the chunks: one expression for each state of their
// suffix automaton, from which a chunk leads to one state.
BoundedLanguage substring_language(Languages& languages, std::span<const std::string> chunks);

}  // namespace ruv
