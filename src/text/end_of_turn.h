// The tokens that end an answer besides eos, found by their published texts.
#pragma once

#include <vector>

#include "text/tokenizer.h"

namespace ruv {

// Ids of control and user-defined tokens whose text is a known end of turn ("<|eot_id|>",
// "<|im_end|>", "<end_of_turn>", …), ascending. Requires: kinds has one entry per token.
std::vector<Token> find_end_of_turn(const TokenizerSpec& spec);

}  // namespace ruv
