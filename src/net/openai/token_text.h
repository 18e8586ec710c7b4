// Tokens as shown in lists of log-probabilities.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/model_text.h"

namespace ruv {

// The exact bytes of one token; empty when the model has no text for it.
std::string token_bytes(const ModelText& text, Token id);
// The value for JSON, which has no infinity: "impossible" is -9999, as in OpenAI's API.
double finite_logprob(float logprob);
// Code points, as text_offset counts them.
int64_t n_characters(std::string_view text);
// Appends a comma if the list already has elements.
void begin_element(std::string& list);

}  // namespace ruv
