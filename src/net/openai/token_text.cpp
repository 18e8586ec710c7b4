#include "net/openai/token_text.h"

#include <cmath>

namespace ruv {

std::string token_bytes(const ModelText& text, Token id) {
  return text.text_of(std::span(&id, 1), true).value_or(std::string());
}

// JSON has no infinity.
double finite_logprob(float logprob) {
  return std::isfinite(logprob) ? static_cast<double>(logprob) : -9999.0;
}

int64_t n_characters(std::string_view text) {
  int64_t n = 0;
  for (const char c : text) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return n;
}

void begin_element(std::string& list) {
  if (!list.empty()) list += ',';
}

}  // namespace ruv
