// tokenizer.json and tokenizer_config.json of a tokenizer, as the tokenizers package reads them.
#pragma once

#include <string>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace ruv {

// The whole file. Fails: unsupported, naming what it cannot say: vocabularies other than byte-level
// BPE and SentencePiece's BPE, two tokens of one text, scores without an order. `source` is quoted
// in errors.
Result<std::string> tokenizer_json_of(const TokenizerSpec& spec, const std::string& source);

// With the chat template, if it is not empty. `n_positions`: the longest text; 0: not known.
std::string tokenizer_config_of(const TokenizerSpec& spec, std::string_view chat_template,
                                int64_t n_positions);

// Fails: unsupported, naming the first thing in which the tokenizer that was written and read back
// differs from the file's: ids, texts, kinds, merges, the steps before them, or how a text that is
// made of the vocabulary is cut.
Status check_same_tokenizer(const TokenizerSpec& source, const TokenizerSpec& written,
                            const std::string& path);

}  // namespace ruv
