// tokenizer_config.json, the companion of a tokenizer's file: which tokens begin and end a text,
// and added tokens that the file itself does not list.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace ruv {

// If the config names bos, eos and pad, or says whether to add them, it overrides `spec`, as in
// transformers. Tokens of added_tokens_decoder that `spec` lacks are added. Does nothing when
// `config` is empty. `source` is quoted in errors. Fails: corrupt.
Status apply_tokenizer_config(std::string_view config, const std::string& source,
                              TokenizerSpec& spec);

// The id of a token by its stored text: of an added token, else of any token.
std::optional<Token> find_token(const TokenizerSpec& spec, std::string_view text);

// Places an added token: it joins spec.added, and the token table at its id, which grows as needed.
// Fails: corrupt (the id is above max_id or has another text).
Status place_added_token(AddedToken added, int64_t max_id, const std::string& source,
                         TokenizerSpec& spec);

}  // namespace ruv
