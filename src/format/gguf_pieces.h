// A Unigram vocabulary on its way to a GGUF file.
#pragma once

#include <string_view>

#include "format/gguf_writer.h"
#include "format/model_file.h"
#include "text/tokenizer_spec.h"

namespace ruv {

// What keeps readers of the file from making this tokenizer of its tokens: they know the steps of
// SentencePiece's own files. Empty: nothing does.
std::string_view unwritten_pieces(const TokenizerSpec& spec);
// The tokenizer of a checkpoint in the form that files hold, where it is there in two: that of
// SentencePiece's own file, with what tokenizer.json has after its pieces. Others as they are.
// Fails: as reading that file; unsupported, where the two have different pieces.
Result<TokenizerSpec> written_spec(const ModelFile& model, TokenizerSpec spec);
// The keys that only such vocabularies have.
void add_piece_keys(const TokenizerSpec& spec, GgufWriter& out);

}  // namespace ruv
