#include "engine/answer_text.h"

#include <algorithm>
#include <utility>

namespace ruv {

AnswerText::AnswerText(const Tokenizer* tokenizer, std::span<const Token> prompt, StopText stops,
                       std::vector<Token> shown, IndentStop indent)
    : tokenizer_(tokenizer), stop_text_(std::move(stops)), indent_(std::move(indent)) {
  if (tokenizer == nullptr) return;
  // An answer to a prompt without text begins the text, where some tokenizers drop a space.
  const bool after_text = std::ranges::any_of(prompt, [&](Token token) {
    return token >= 0 && token < tokenizer->vocab_size() && !tokenizer->is_control(token);
  });
  detokenizer_.emplace(*tokenizer, false, after_text);
  detokenizer_->show(std::move(shown));
}

void AnswerText::heal(std::span<const Token> taken_back, size_t n_bytes) {
  // A character that these tokens leave unfinished will come whole.
  Detokenizer detokenizer(*tokenizer_);
  for (const Token id : taken_back) n_skipped_ += detokenizer.push(id).size();
  n_forced_ = n_bytes;
}

size_t AnswerText::n_healed_bytes(Token id) const {
  return n_forced_ == 0 ? 0 : std::min(n_forced_, tokenizer_->token_bytes(id, false).size());
}

int64_t AnswerText::n_healed(std::span<const Token> next) const {
  size_t n_forced = n_forced_;
  int64_t n = 0;
  for (const Token id : next) {
    const size_t n_bytes = n_forced == 0 ? 1 : tokenizer_->token_bytes(id, false).size();
    if (n_bytes > n_forced) break;
    n_forced -= n_bytes;
    ++n;
  }
  return n;
}

// Healed bytes are counted in tokens, skipped text in decoded bytes: a character may be split over
// the border, and then its text comes whole with the answer.
std::string AnswerText::push(Token id) {
  if (!detokenizer_) return {};
  n_forced_ -= n_healed_bytes(id);
  return indent_.push(stop_text_.push(new_text(detokenizer_->push(id))));
}

std::string AnswerText::finish() {
  if (!detokenizer_) return {};
  // An answer that ends inside the healed bytes has no text of its own.
  const std::string rest = n_skipped_ == 0 ? detokenizer_->finish() : std::string();
  std::string text = stop_text_.push(rest);
  text = indent_.push(text + stop_text_.finish());
  return text + indent_.finish();
}

AnswerText::Completed AnswerText::finish_with(std::string_view bytes) {
  if (!detokenizer_) return {};
  std::string held = indent_.push(stop_text_.finish());
  held += indent_.finish();
  std::string added = new_text(detokenizer_->push(bytes));
  added += detokenizer_->finish();
  return {held + added, added.size()};
}

// Removes what the prompt had from the front.
std::string AnswerText::new_text(std::string text) {
  const size_t n = std::min(n_skipped_, text.size());
  n_skipped_ -= n;
  return text.erase(0, n);
}

}  // namespace ruv
