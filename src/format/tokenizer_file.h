// A tokenizer from any file that contains one: a GGUF file, tokenizer.json, a SentencePiece model,
// tiktoken ranks, an RWKV vocabulary, or a folder with one of these. The kind of file is recognised
// by its content. A tokenizer_config.json beside the file is read too. `scheme` says how words are
// split for files that do not say it (tiktoken ranks). Fails: not_found, corrupt, unsupported;
// messages begin with the path.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace ruv {

// tokenizer_config.json beside the file is read too. `scheme` says how words are split where files
// do not (tiktoken ranks). Fails: not_found, corrupt, unsupported; messages begin with the path.
Result<TokenizerSpec> read_tokenizer_spec(const std::string& path, std::string_view scheme = {});

// The tokenizer made of it. Fails: as above, and as Tokenizer::create.
Result<std::shared_ptr<const Tokenizer>> open_tokenizer_file(const std::string& path,
                                                             std::string_view scheme = {});

}  // namespace ruv
