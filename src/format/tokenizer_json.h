// tokenizer.json of HuggingFace tokenizers, with tokenizer_config.json beside it, as a
// TokenizerSpec. The file describes a pipeline (normalizer, pre-tokenizer, model, post-processor).
// A pipeline that is not known exactly is refused, since a nearly right one would give wrong
// tokens.
#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace ruv {

// `config` is the text of tokenizer_config.json, or empty. `source` is quoted in errors. Memory is
// bounded by a multiple of the texts' sizes. Fails: corrupt (with the field), unsupported (a step
// of the pipeline, with its type or regular expression).
Result<TokenizerSpec> tokenizer_spec_from_json(std::string_view tokenizer, std::string_view config,
                                               const std::string& source);

// Reads both files of a model's folder. Fails: not_found (no tokenizer.json), and as above.
Result<TokenizerSpec> read_tokenizer_folder(const std::string& folder);

}  // namespace ruv
