// The names that GGUF files give to kinds of tokenizers and to pre-tokenizers, with what a name
// implies beyond the keys of the file. Several are also names of model families; the tokenizer of a
// file does not depend on its family.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/tokenizer_spec.h"

namespace ruv {

// "tokenizer.ggml.model".
std::optional<TokenizerKind> vocab_kind_of(std::string_view name);
// All of them, for an error: "a, b and c".
std::string vocab_names();
// Requires: a kind that some name has.
std::string_view vocab_name_of(TokenizerKind kind);

// What "tokenizer.ggml.pre" implies.
struct SchemeTraits {
  bool whole_words = false;  // a word that is a token is not merged
  bool bos = false;          // texts begin with bos where the file does not say it
  bool nfc = false;
};
SchemeTraits scheme_traits_of(std::string_view pre);

}  // namespace ruv
