// The tokenizer's tables of a GGUF file: the keys "tokenizer.ggml.*" of its metadata, with the
// defaults that readers of the format agree on for absent keys.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "format/model_file.h"
#include "text/tokenizer.h"

namespace ruv {

// `source` (a file name) is quoted in errors. Fails: not_found (no tokenizer in the file), corrupt
// (a key of another type, tables of different sizes, ids out of range), unsupported (an unknown
// tokenizer model or pre-tokenizer scheme, by name).
Result<TokenizerSpec> tokenizer_spec_from_metadata(
    const std::map<std::string, MetaValue, std::less<>>& metadata, const std::string& source);

}  // namespace ruv
