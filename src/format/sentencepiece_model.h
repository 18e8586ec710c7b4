// A SentencePiece model (Kudo and Richardson, 2018): the protocol buffer message ModelProto with
// the pieces, their scores and the normalisation of the training text. The fields read here are
// listed in docs/formats/sentencepiece.md.
#pragma once

#include <string>

#include "base/bytes.h"
#include "text/tokenizer_spec.h"

namespace ruv {

// `source` is quoted in errors. Memory is bounded by a multiple of the size of `bytes`. Fails:
// corrupt (with the offset and field), unsupported (a model type or an option we lack, by name).
Result<TokenizerSpec> tokenizer_spec_from_sentencepiece(Bytes bytes, const std::string& source);

}  // namespace ruv
