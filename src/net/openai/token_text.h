// Tokens as log-probability lists show them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/model_text.h"

namespace ruv {

// The exact bytes of one token; empty when the model has no text for it.
std::string token_bytes(const ModelText& text, Token id);
// JSON has no infinity: OpenAI's -9999 stands for "impossible".
double finite_logprob(float logprob);
int64_t n_characters(std::string_view text);
// A comma where the list has elements already.
void begin_element(std::string& list);

}  // namespace ruv
