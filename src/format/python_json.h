// JSON as Python writes it, which has words for numbers that are not finite.
#pragma once

#include <string>
#include <string_view>

namespace ruv {

// The text with Infinity, -Infinity and NaN, outside of texts, as transformers 5 writes
// them: {"__float__": "Infinity"}. In time linear in its length; other texts are not
// changed.
std::string with_tagged_floats(std::string_view text);

}  // namespace ruv
