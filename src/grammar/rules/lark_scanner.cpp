// Words are taken where the parser expects them, so the same characters can be a comment (`//`)
// between words and part of a text in quotes.
#include "grammar/rules/lark_scanner.h"

#include <algorithm>

#include "base/utf8.h"

namespace ruv {

void LarkScanner::skip_space(bool lines) {
  for (;;) {
    take_while(
        [&](char c) { return c == ' ' || c == '\t' || (lines && (c == '\r' || c == '\n')); });
    if (peek() != '#' && !next_is("//")) return;
    take_while([](char c) { return c != '\n'; });
  }
}

// A hyphen belongs to a name unless an arrow begins with it.
std::string_view LarkScanner::take_name() {
  const size_t begin = at();
  if (!is_letter_byte(peek()) && peek() != '_') return {};
  while (is_letter_byte(peek()) || is_digit_byte(peek()) || peek() == '_' ||
         (peek() == '-' && !next_is("->"))) {
    move_to(at() + 1);
  }
  return from(begin);
}

std::optional<bool> is_terminal_name(std::string_view name) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const bool upper = std::ranges::any_of(name, is_upper);
  const bool lower = std::ranges::any_of(name, is_lower);
  if (upper == lower) return std::nullopt;
  return upper;
}

Result<LarkScanner::Literal> LarkScanner::take_literal() {
  const size_t begin = at();
  if (!take("\"")) return error(Code::corrupt, "expected a text in quotes");
  Literal made;
  while (!take("\"")) {
    if (at_line_end()) return error_at(begin, Code::corrupt, "a text lacks its end");
    const size_t place = at();
    const uint32_t c = TRY(take("\\") ? take_escape() : take_character());
    if (c >= 0xD800 && c <= 0xDFFF) {
      return error_at(place, Code::corrupt, "half a surrogate pair stands for no character");
    }
    append_utf8(made.text, c);
  }
  made.any_case = take("i");
  return made;
}

// After a backslash.
Result<uint32_t> LarkScanner::take_escape() {
  const size_t begin = at() - 1;
  const uint32_t c = TRY(take_character());
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'f':
      return '\f';
    case 'b':
      return '\b';
    case '"':
    case '\\':
    case '/':
      return c;
    case 'x':
      return take_hex_digits(2);
    case 'U':
      return take_hex_digits(8);
    case 'u': {
      const uint32_t high = TRY(take_hex_digits(4));
      const size_t after = at();
      if (high < 0xD800 || high > 0xDBFF || !take("\\u")) return high;
      const uint32_t low = TRY(take_hex_digits(4));
      if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
      move_to(after);
      return high;
    }
    default:
      return error_at(begin, Code::corrupt, "no such escape");
  }
}

// Only a slash without a backslash ends it, also in a class, as in Lark.
Result<LarkScanner::Regex> LarkScanner::take_regex() {
  const size_t begin = at();
  if (!take("/")) return error(Code::corrupt, "expected a regular expression");
  const size_t inner = at();
  while (peek() != '/') {
    if (take("\\") && !at_line_end()) {
      TRY(take_character());
      continue;
    }
    if (at_line_end()) return error_at(begin, Code::corrupt, "a regular expression lacks its '/'");
    move_to(at() + 1);
  }
  Regex made = {.text = std::string(from(inner))};
  take("/");
  for (; is_letter_byte(peek()); move_to(at() + 1)) {
    if (peek() == 'i') {
      made.any_case = true;
    } else if (peek() == 's') {
      made.dot_all = true;
    } else if (peek() != 'm') {  // which concerns only anchors, and these are refused
      return error(Code::unsupported, fmt::format("the flag \"{}\" of a regular expression is not "
                                                  "supported; i, s and m are",
                                                  peek()));
    }
  }
  return made;
}

// Finds the end by counting brackets outside of strings; whether they match, and the rest, is for
// the parser of JSON to say.
Result<Json> LarkScanner::take_object(std::string_view what) {
  skip_space(true);
  const size_t begin = at();
  if (peek() != '{') return error(Code::corrupt, fmt::format("{} wants a JSON object", what));
  int depth = 0;
  bool in_string = false;
  do {
    if (done()) {
      return error_at(begin, Code::corrupt, fmt::format("the object of {} lacks its end", what));
    }
    const char c = peek();
    move_to(at() + 1);
    if (in_string) {
      if (c == '\\' && !done()) move_to(at() + 1);
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  } while (depth > 0);
  Result<Json> object = parse_json(from(begin), what);
  if (!object) return error_at(begin, Code::corrupt, object.error().message());
  return object;
}

}  // namespace ruv
