// The stream holds back bytes that may still become a character; bytes that cannot become U+FFFD.
#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "text/tokenizer.h"

namespace ruv {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, bool with_special, bool after_prompt)
    : tokenizer_(&tokenizer), with_special_(with_special), at_start_(!after_prompt) {}

void Detokenizer::show(std::vector<Token> control_tokens) {
  shown_ = std::move(control_tokens);
  std::ranges::sort(shown_);
}

std::string Detokenizer::push(Token id) {
  const bool special = with_special_ || std::ranges::binary_search(shown_, id);
  tokenizer_->append_bytes(id, special, pending_);
  if (tokenizer_->shows_unknown(id, special)) at_start_ = false;
  if (at_start_ && !pending_.empty()) {
    pending_.erase(0, tokenizer_->own_spaces(pending_));
    at_start_ = pending_.empty() && tokenizer_->spec().remove_extra_spaces;
  }
  return whole_characters();
}

std::string Detokenizer::push(std::string_view bytes) {
  pending_ += bytes;
  return whole_characters();
}

std::string Detokenizer::whole_characters() {
  const size_t whole = whole_utf8_prefix(pending_);
  std::string text = tokenizer_->valid_text(std::string_view(pending_).substr(0, whole));
  pending_.erase(0, whole);
  return text;
}

std::string Detokenizer::finish() {
  std::string text = tokenizer_->valid_text(pending_);
  pending_.clear();
  return text;
}

}  // namespace ruv
