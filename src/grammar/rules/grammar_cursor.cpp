#include "grammar/rules/grammar_cursor.h"

#include "base/utf8.h"
#include "text/hex.h"
#include "text/split/code_point_set.h"

namespace ruv {

// All of the text is checked before anything is taken, so that errors of readers can quote it.
Status GrammarCursor::check() const {
  if (text_.size() > kMaxBytes) {
    return fail(Code::unsupported, "{} grammar: {} bytes; at most {} are read", syntax_,
                text_.size(), kMaxBytes);
  }
  for (size_t at = 0; at < text_.size();) {
    const CodePoint c = decode_utf8(text_, at);
    if (!c.valid) return error_at(at, Code::corrupt, "not UTF-8");
    at += c.size;
  }
  return {};
}

bool GrammarCursor::take(std::string_view text) {
  if (!next_is(text)) return false;
  at_ += text.size();
  return true;
}

Result<uint32_t> GrammarCursor::take_character() {
  if (done()) return error(Code::corrupt, "the text ends here, inside something");
  const CodePoint c = decode_utf8(text_, at_);
  if (!c.valid) return error(Code::corrupt, "not UTF-8");
  at_ += c.size;
  return c.value;
}

// Digits are counted in as long as the number stays small, so none of them can overflow it.
Result<uint32_t> GrammarCursor::take_count() {
  const size_t begin = at_;
  const std::string_view digits = take_while(is_digit_byte);
  if (digits.empty()) return error(Code::corrupt, "a number is missing");
  uint32_t count = 0;
  for (const char digit : digits) {
    count = count * 10 + static_cast<uint32_t>(digit - '0');
    if (count > kMaxCount) {
      return error_at(begin, Code::unsupported,
                      fmt::format("a count above {} is not supported", kMaxCount));
    }
  }
  return count;
}

Result<uint32_t> GrammarCursor::take_hex_digits(size_t n) {
  const std::optional<uint32_t> value =
      rest().size() < n ? std::nullopt : parse_hex(rest().substr(0, n));
  if (!value) return error(Code::corrupt, fmt::format("{} hexadecimal digits are missing", n));
  if (*value > kLastCodePoint) return error(Code::corrupt, "beyond U+10FFFF");
  at_ += n;
  return *value;
}

// Bytes that continue a character are not columns.
tl::unexpected<Status> GrammarCursor::error_at(size_t at, Code code, std::string_view what) const {
  size_t line = 1;
  size_t column = 1;
  for (const char c : text_.substr(0, at)) {
    if (c == '\n') {
      ++line;
      column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
      ++column;
    }
  }
  return fail(code, "{} grammar: line {}, column {}: {}", syntax_, line, column, what);
}

std::string named_in_grammar(std::string_view name) {
  constexpr size_t kShownBytes = 60;
  const std::string_view shown = name.substr(0, kShownBytes);
  return fmt::format("\"{}{}\"", to_valid_utf8(shown), shown.size() < name.size() ? "…" : "");
}

}  // namespace ruv
