// Tensor names: one table says which name of a HuggingFace checkpoint is which name of a GGUF file,
// so that everything above sees GGUF names only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ruv {

// A name from a file made safe to quote in an error: valid UTF-8 without control characters, at
// most about 100 bytes.
std::string quoted_name(std::string_view name);

}  // namespace ruv
