// A tiktoken rank file: each line is a token's bytes in base64 and its rank, which is also its id.
// Pairs merge by the rank of the joined bytes, so there is no list of merges. How words are split
// and which control tokens exist is not in the file; it is derived from the file's name or its
// number of ranks.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace ruv {

// `name` is the file's name without folders. `scheme` overrides it: one of the names of
// PreTokenizer::find or of the rank files ("cl100k_base", "o200k_base", "qwen", …). `source` is
// quoted in errors. Fails: corrupt (with the line), unsupported (no scheme is known for the file).
Result<TokenizerSpec> tokenizer_spec_from_ranks(std::string_view text, std::string_view name,
                                                std::string_view scheme, const std::string& source);

// Whether the first line is a token and its rank.
bool looks_like_ranks(std::string_view text);

}  // namespace ruv
