// How a model's tokenizer joins two texts: what a cross-encoder reads.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace ruv {

// first_tokens(), the first text, `middle`, the second text, last_tokens().
struct PairForm {
  std::vector<Token> middle;
  bool has_types = false;  // tokens from the second text on have another type
};

// The form that the folder's tokenizer.json states; where there is none, that of the tokenizer's
// kind: one closing token between WordPiece's texts, two between those of others. Fails: corrupt,
// unsupported (no form, or another one than above), naming the file.
Result<PairForm> read_pair_form(const std::string& folder, const TokenizerSpec& spec);
// The form by the tokenizer's kind.
PairForm usual_pair_form(const TokenizerSpec& spec);

}  // namespace ruv
