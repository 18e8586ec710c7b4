#include "net/openai/tokenize_answer.h"

#include <utility>

#include "base/utf8.h"
#include "net/openai/token_text.h"

namespace ruv {

std::string TokenizeAnswer::next(size_t n_bytes) {
  while (!done() && out_.size() < n_bytes) step();
  return std::exchange(out_, {});
}

size_t TokenizeAnswer::held_bytes() const { return text_.log.held_bytes(); }

bool TokenizeAnswer::has(List list) const {
  switch (list) {
    case List::tokens:
      return fields_.ids;
    case List::names:
      return fields_.names;
    case List::spans:
      return fields_.spans;
    default:
      return true;
  }
}

// Begins the list, or the first one after it that the answer has.
void TokenizeAnswer::begin(List list) {
  while (!has(list)) list = static_cast<List>(static_cast<int>(list) + 1);
  list_ = list;
  ids_ = NumberLog::Reader(text_.log.ids);
  if (list == List::none) return writer_.end_object();
  constexpr const char* kNames[] = {"", "tokens", "token_strs", "spans"};
  writer_.key(kNames[static_cast<int>(list)]);
  writer_.begin_array();
}

void TokenizeAnswer::step() {
  if (list_ == List::head) {
    writer_.begin_object();
    writer_.key("count");
    writer_.integer(text_.n_tokens);
    writer_.key("max_model_len");
    writer_.integer(service_.engine->n_ctx());
    return begin(List::tokens);
  }
  const bool at_end = list_ == List::spans ? spans_.done() : ids_.done();
  if (!at_end) return write_item();
  writer_.end_array();
  begin(static_cast<List>(static_cast<int>(list_) + 1));
}

void TokenizeAnswer::write_item() {
  if (list_ == List::spans) {
    const TokenSpan span = spans_.next();
    writer_.begin_array();
    writer_.integer(span.begin);
    writer_.integer(span.end);
    return writer_.end_array();
  }
  const auto id = static_cast<Token>(ids_.next());
  if (list_ == List::names) return writer_.text(service_.text->token_name(id));
  if (!fields_.pieces) return writer_.integer(id);
  writer_.begin_object();
  writer_.key("id");
  writer_.integer(id);
  writer_.key("piece");
  write_piece(id);
  writer_.end_object();
}

// The piece as a text if it is one, else as its bytes.
void TokenizeAnswer::write_piece(Token id) {
  const std::string bytes = token_bytes(*service_.text, id);
  if (is_valid_utf8(bytes)) return writer_.text(bytes);
  writer_.begin_array();
  for (const char c : bytes) writer_.integer(static_cast<unsigned char>(c));
  writer_.end_array();
}

}  // namespace ruv
