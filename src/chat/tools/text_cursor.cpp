#include "chat/tools/text_cursor.h"

#include <algorithm>

#include "base/check.h"
#include "chat/tools/tool_dialect.h"

namespace ruv {

std::string_view mark_core(std::string_view text) {
  while (!text.empty() && is_mark_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_mark_space(text.back())) text.remove_suffix(1);
  return text;
}

// What was read is dropped once it is the larger half, so each byte is moved about once.
void TextCursor::append(std::string_view text) {
  const size_t read = std::min(at_, held_);
  if (read > text_.size() / 2) {
    work_ += text_.size() - read;
    text_.erase(0, read);
    at_ -= read;
    if (held_ != std::string::npos) held_ -= read;
    dropped_ += read;
  }
  text_ += text;
  work_ += text.size();
}

void TextCursor::advance(size_t n) {
  CHECK(n <= text_.size() - at_);
  at_ += n;
  work_ += n;
}

MarkMatch TextCursor::match(std::string_view mark, size_t at) {
  const std::string_view there = rest().substr(std::min(at, rest().size()));
  const size_t n = std::min(there.size(), mark.size());
  size_t equal = 0;
  while (equal < n && there[equal] == mark[equal]) ++equal;
  work_ += equal + 1;
  if (equal == mark.size()) return MarkMatch::full;
  return equal == there.size() && !ended_ ? MarkMatch::partial : MarkMatch::no;
}

bool TextCursor::skip_space() {
  size_t n = 0;
  const std::string_view there = rest();
  while (n < there.size() && is_mark_space(there[n])) ++n;
  advance(n);
  return !empty() || ended_;
}

}  // namespace ruv
