// The vocabulary of RWKV "world" models: a text of lines "id literal length", where the literal is
// a Python string ('…', a text) or bytes (b'…', any bytes) and the length counts its bytes. Id 0
// has no line: it ends a text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace ruv {

// `source` is quoted in errors. Fails: corrupt (with the line).
Result<TokenizerSpec> tokenizer_spec_from_rwkv(std::string_view text, const std::string& source);

// Whether the first line is an id, a literal and a length.
bool looks_like_rwkv(std::string_view text);

// The bytes of a token as GGUF files write it: \t, \n, \r, \xHH and \ before other characters.
// Nothing when an escape is unfinished.
std::optional<std::string> unescape_rwkv(std::string_view text);

}  // namespace ruv
