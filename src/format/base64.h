// Base64 (RFC 4648) as tiktoken's rank files and precompiled_charsmap use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ruv {

// Appends the decoded bytes; false, with `out` unchanged, when `text` is not base64. Padding may be
// missing; bits beyond the last byte are ignored.
bool append_base64(std::string_view text, std::string& out);

}  // namespace ruv
