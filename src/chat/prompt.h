// From rendered parts to token ids: control tokens come from the template's bytes only.
#pragma once

#include <span>
#include <vector>

#include "chat/chat_template.h"
#include "text/tokenizer.h"

namespace ruv {

// Options with the texts of the tokenizer's bos and eos and with the time of now.
RenderOptions render_options(const Tokenizer* tokenizer);

// The parts as the tokenizer takes them; a control token written in a user's text, or half in it,
// stays text. The result refers to `parts`.
std::vector<TextPart> text_parts(std::span<const RenderedPart> parts);

// Puts bos before a prompt where the model wants one and the template wrote none.
void add_missing_bos(const Tokenizer& tokenizer, std::vector<Token>& ids);

// The ids of all parts joined, as the model was trained on them. Adds no bos or eos beyond what the
// template writes.
std::vector<Token> encode_parts(const Tokenizer& tokenizer, std::span<const RenderedPart> parts);

}  // namespace ruv
