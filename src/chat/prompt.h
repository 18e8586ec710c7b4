// From rendered parts to token ids: control tokens come from the template's bytes only.
#pragma once

#include <vector>

#include "chat/chat_template.h"
#include "text/tokenizer.h"

namespace ruv {

// The ids of all parts joined, as the model was trained on them; a control token written in a
// user's text, or half in it, stays text. Adds no bos or eos beyond what the template writes.
std::vector<Token> encode_parts(const Tokenizer& tokenizer, const std::vector<RenderedPart>& parts);

}  // namespace ruv
