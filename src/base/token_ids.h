// Whether token ids from outside are of a vocabulary.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "ruv/token.h"

namespace ruv {

// The first id that is not in [0, n_vocab); nothing: all are.
std::optional<Token> unknown_token(std::span<const Token> ids, int64_t n_vocab);
// Fails: invalid, "what: token id 7 is not in the vocabulary of 5".
Status check_tokens(std::span<const Token> ids, int64_t n_vocab, std::string_view what);

}  // namespace ruv
