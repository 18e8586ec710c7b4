// Shortening what tools return to what a model should read.
#pragma once

#include <string>
#include <string_view>

namespace ruv {

// At most about `max_bytes` of the text as UTF-8: all of it, or three quarters of that from its
// beginning and one from its end, with a note between them that says how many bytes were left out.
// Bytes that are not UTF-8 become U+FFFD.
std::string cut_text(std::string_view text, size_t max_bytes);

}  // namespace ruv
