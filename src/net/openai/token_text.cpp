#include "net/openai/token_text.h"

#include <cmath>

namespace ruv {

std::string token_bytes(const ModelText& text, Token id) {
  return text.text_of(std::span(&id, 1), true).value_or(std::string());
}

double finite_logprob(float logprob) {
  return std::isfinite(logprob) ? static_cast<double>(logprob) : -9999.0;
}

void begin_element(std::string& list) {
  if (!list.empty()) list += ',';
}

}  // namespace ruv
