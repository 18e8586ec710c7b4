// A WordPiece vocabulary on its way to a GGUF file.
#pragma once

#include "text/tokenizer_spec.h"

namespace ruv {

// Whether readers of the file make this tokenizer of its tokens: they know BERT's steps, cased or
// not, which they tell by the tokens.
bool is_berts(const TokenizerSpec& spec);
// The tokens as files write them: with ▁ where a word begins, and without ## inside a word.
std::vector<std::string> marked_words(const TokenizerSpec& spec);

}  // namespace ruv
