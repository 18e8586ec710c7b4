// One pass over the source. First, line breaks become "\n" and one at the very end is dropped, as
// in Jinja; positions therefore still name the right line.
#include "chat/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/number_text.h"
#include "chat/jinja/escapes.h"
#include "chat/jinja/letters.h"

namespace ruv::jinja {

std::string describe(Place place) {
  return fmt::format("line {}, column {}", place.line, place.column);
}

namespace {

// Replaces \r\n and \r.
std::string with_plain_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_number_digit(char c) { return c >= '0' && c <= '9'; }

// The state of the pass: the position, and what the last tag said about white space after it.
class TemplateLexer {
 public:
  explicit TemplateLexer(std::string_view source) : source_(source) {}

  Result<std::vector<Lexeme>> run() {
    while (at_ < source_.size()) TRY(text_and_tag());
    push(LexemeKind::end, at_, "");
    return std::move(lexemes_);
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  std::string_view rest() const { return source_.substr(at_); }
  bool starts(std::string_view prefix) const { return rest().starts_with(prefix); }
  void skip_space() { at_ += leading_space(rest()); }

  // Positions are requested in rising order, so lines are counted once.
  Place place_of(size_t offset) {
    for (; counted_ < offset; ++counted_) {
      if (source_[counted_] == '\n') {
        ++line_;
        line_start_ = counted_ + 1;
      }
    }
    return {line_, static_cast<uint32_t>(offset - line_start_) + 1};
  }
  tl::unexpected<Status> error_at(size_t offset, std::string_view what) {
    return fail(Code::corrupt, "{}: {}", describe(place_of(offset)), what);
  }
  Lexeme& push(LexemeKind kind, size_t offset, std::string_view text) {
    lexemes_.push_back({kind, place_of(offset), std::string(text)});
    return lexemes_.back();
  }

  Status text_and_tag();
  void push_text(size_t begin, size_t end, char sign, bool strips_line);
  Status comment();
  Status raw(size_t tag);
  bool enters_raw(size_t& after) const;
  Status words(bool is_variable);
  bool closes_tag(bool is_variable);
  void after_block_end();
  Status word();
  Status number();
  Status string();
  Status sign();

  std::string_view source_;
  size_t at_ = 0;
  size_t counted_ = 0;
  uint32_t line_ = 1;
  size_t line_start_ = 0;
  bool line_starting_ = true;  // the last tag ended with a line break
  std::string brackets_;       // the closing brackets awaited inside a tag
  std::vector<Lexeme> lexemes_;
};

// The text up to a tag, cut by the tag's sign or, for blocks and comments, by lstrip_blocks.
void TemplateLexer::push_text(size_t begin, size_t end, char sign, bool strips_line) {
  std::string_view text = source_.substr(begin, end - begin);
  if (sign == '-') {
    text.remove_suffix(trailing_space(text));
  } else if (sign != '+' && strips_line) {
    const size_t newline = text.rfind('\n');
    const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    if ((line > 0 || line_starting_) && leading_space(text.substr(line)) == text.size() - line)
      text = text.substr(0, line);
  }
  if (!text.empty()) push(LexemeKind::text, begin, text);
}

// Text up to the next tag, then the tag.
Status TemplateLexer::text_and_tag() {
  const size_t begin = at_;
  size_t tag = begin;
  while (true) {
    tag = source_.find('{', tag);
    if (tag == std::string_view::npos || tag + 1 >= source_.size()) {
      push(LexemeKind::text, begin, source_.substr(begin));
      at_ = source_.size();
      return Status();
    }
    const char second = source_[tag + 1];
    if (second == '{' || second == '%' || second == '#') break;
    ++tag;
  }
  const char second = source_[tag + 1];
  at_ = tag + 2;
  const char sign = peek() == '-' || peek() == '+' ? peek() : '\0';
  if (sign) ++at_;
  push_text(begin, tag, sign, second != '{');
  if (second == '#') return comment();
  size_t after = 0;
  if (second == '%' && enters_raw(after)) {
    at_ = after;
    return raw(tag);
  }
  push(second == '{' ? LexemeKind::variable_begin : LexemeKind::block_begin, tag, "");
  return words(second == '{');
}

// trim_blocks: drops one line break after a block tag.
void TemplateLexer::after_block_end() {
  if (peek() == '\n') ++at_;
  line_starting_ = source_[at_ - 1] == '\n';
}

// {# … #}: dropped.
Status TemplateLexer::comment() {
  const size_t end = rest().find("#}");
  if (end == std::string_view::npos) return error_at(at_, "this comment is not closed by #}");
  const char sign = end > 0 ? source_[at_ + end - 1] : '\0';
  at_ += end + 2;
  if (sign == '-') {
    skip_space();
    line_starting_ = source_[at_ - 1] == '\n';
  } else if (sign == '+') {
    line_starting_ = false;
  } else {
    after_block_end();
  }
  return Status();
}

// Whether the tag is {% raw %}.
bool TemplateLexer::enters_raw(size_t& after) const {
  size_t at = at_ + leading_space(rest());
  if (!source_.substr(at).starts_with("raw")) return false;
  at += 3;
  at += leading_space(source_.substr(at));
  const std::string_view end = source_.substr(at);
  if (end.starts_with("%}")) {
    after = at + 2;
  } else if (end.starts_with("-%}")) {
    after = at + 3 + leading_space(end.substr(3));
  } else {
    return false;
  }
  return true;
}

// Everything up to {% endraw %} is text.
Status TemplateLexer::raw(size_t tag) {
  const size_t begin = at_;
  if (begin == source_.size()) return Status();  // Jinja lets an empty one go unclosed
  line_starting_ = source_[at_ - 1] == '\n';
  for (size_t open = source_.find("{%", at_); open != std::string_view::npos;
       open = source_.find("{%", open + 2)) {
    at_ = open + 2;
    const char sign = peek() == '-' || peek() == '+' ? peek() : '\0';
    if (sign) ++at_;
    skip_space();
    if (!starts("endraw")) continue;
    at_ += 6;
    skip_space();
    const size_t closing = at_;
    const bool was_starting = line_starting_;
    if (!closes_tag(false)) {
      at_ = closing;
      continue;
    }
    const bool starting_after = line_starting_;
    line_starting_ = was_starting;
    push_text(begin, open, sign, true);
    line_starting_ = starting_after;
    return Status();
  }
  return error_at(tag, "this raw block is not closed by {% endraw %}");
}

// Consumes the end of the tag together with the white space that it eats.
bool TemplateLexer::closes_tag(bool is_variable) {
  const std::string_view end = is_variable ? "}}" : "%}";
  if (peek() == '-' && source_.substr(at_ + 1).starts_with(end)) {
    at_ += 3;
    skip_space();
    line_starting_ = source_[at_ - 1] == '\n';
    return true;
  }
  if (!is_variable && peek() == '+' && source_.substr(at_ + 1).starts_with(end)) {
    at_ += 3;
    line_starting_ = false;
    return true;
  }
  if (!starts(end)) return false;
  at_ += 2;
  line_starting_ = false;
  if (!is_variable) after_block_end();
  return true;
}

// The lexemes inside a tag.
Status TemplateLexer::words(bool is_variable) {
  const size_t tag = at_;
  brackets_.clear();
  while (true) {
    skip_space();
    if (at_ >= source_.size())
      return error_at(tag, fmt::format("this tag is not closed by {}", is_variable ? "}}" : "%}"));
    const size_t begin = at_;
    if (brackets_.empty() && closes_tag(is_variable)) {
      push(is_variable ? LexemeKind::variable_end : LexemeKind::block_end, begin, "");
      return Status();
    }
    TRY(word());
  }
}

Status TemplateLexer::word() {
  const char c = peek();
  if (is_number_digit(c)) return number();
  if (c == '\'' || c == '"') return string();
  if (is_word_byte(c)) {
    const size_t begin = at_;
    while (is_word_byte(peek())) ++at_;
    push(LexemeKind::name, begin, source_.substr(begin, at_ - begin));
    return Status();
  }
  return sign();
}

// Digits that may be grouped by single underscores, those left out of the result.
std::string digits_at(std::string_view text, size_t& at, bool (*accepts)(char)) {
  std::string digits;
  while (at < text.size()) {
    if (accepts(text[at])) {
      digits += text[at++];
    } else if (text[at] == '_' && !digits.empty() && at + 1 < text.size() &&
               accepts(text[at + 1])) {
      ++at;
    } else {
      break;
    }
  }
  return digits;
}

// 0x, 0o and 0b as in Python; 10 otherwise.
int radix_of(std::string_view text) {
  if (text.size() < 3 || text[0] != '0') return 10;
  switch (text[1] | 32) {
    case 'x':
      return 16;
    case 'o':
      return 8;
    case 'b':
      return 2;
    default:
      return 10;
  }
}

// Integers of any size, and floats.
Status TemplateLexer::number() {
  const size_t begin = at_;
  const int radix = radix_of(rest());
  std::string digits;
  if (radix != 10) {
    at_ += 2;
    digits = digits_at(source_, at_, [](char c) {
      return is_number_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f');
    });
  } else {
    digits = digits_at(source_, at_, is_number_digit);
    std::string real = digits;
    size_t end = at_;
    const size_t digits_end = at_;
    if (peek() == '.' && is_number_digit(peek(1))) {
      ++end;
      real += "." + digits_at(source_, end, is_number_digit);
    }
    size_t exponent = end;
    if (exponent < source_.size() && (source_[exponent] | 32) == 'e') {
      std::string power = "e";
      ++exponent;
      if (exponent < source_.size() && (source_[exponent] == '-' || source_[exponent] == '+'))
        power += source_[exponent++];
      const std::string figures = digits_at(source_, exponent, is_number_digit);
      if (!figures.empty()) {
        real += power + figures;
        end = exponent;
      }
    }
    const bool after_dot = begin > 0 && source_[begin - 1] == '.';
    if (end != at_ && !after_dot) {
      Lexeme& lexeme = push(LexemeKind::real, begin, "");
      const auto read = read_number(real, lexeme.real);
      if (read.ec == std::errc::result_out_of_range)
        lexeme.real = real.find("e-") == std::string::npos ? HUGE_VAL : 0.0;
      at_ = end;
      return Status();
    }
    at_ = digits_end;
    // A whole number beginning with 0 has no other digits.
    if (digits.size() > 1 && digits[0] == '0') {
      at_ = begin;
      digits = digits_at(source_, at_, [](char c) { return c == '0'; });
    }
  }
  Lexeme& lexeme = push(LexemeKind::integer, begin, "");
  const auto [stop, code] =
      std::from_chars(digits.data(), digits.data() + digits.size(), lexeme.integer, radix);
  if (stop != digits.data() + digits.size())
    return error_at(begin, "this whole number has wrong digits");
  if (code == std::errc::result_out_of_range) {
    lexeme.wide_base = radix;
    lexeme.text = std::move(digits);
  }
  return Status();
}

// A literal in single or double quotes, with Python's escapes.
Status TemplateLexer::string() {
  const size_t begin = at_;
  const char quote = source_[at_++];
  bool escapes = false;
  while (at_ < source_.size() && source_[at_] != quote) {
    if (source_[at_] == '\\') {
      escapes = true;
      ++at_;
    }
    ++at_;
  }
  if (at_ >= source_.size()) return error_at(begin, "this string is not closed");
  const std::string_view inner = source_.substr(begin + 1, at_ - begin - 1);
  ++at_;
  if (!escapes) {
    push(LexemeKind::string, begin, inner);
    return Status();
  }
  const Result<std::string> value = unescaped(inner);
  if (!value) return error_at(begin, value.error().message());
  push(LexemeKind::string, begin, *value);
  return Status();
}

// The longest operator that matches.
Status TemplateLexer::sign() {
  static constexpr std::array<std::string_view, 26> kSigns = {
      "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
      "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
  const auto found = std::find_if(kSigns.begin(), kSigns.end(),
                                  [&](std::string_view candidate) { return starts(candidate); });
  if (found == kSigns.end()) return error_at(at_, fmt::format("unexpected '{}'", peek()));
  const size_t begin = at_;
  at_ += found->size();
  const char c = (*found)[0];
  if (c == '(') brackets_ += ')';
  if (c == '[') brackets_ += ']';
  if (c == '{') brackets_ += '}';
  if (c == ')' || c == ']' || c == '}') {
    if (brackets_.empty()) return error_at(begin, fmt::format("unexpected '{}'", c));
    if (brackets_.back() != c)
      return error_at(begin, fmt::format("unexpected '{}', expected '{}'", c, brackets_.back()));
    brackets_.pop_back();
  }
  push(LexemeKind::sign, begin, *found);
  return Status();
}

}  // namespace

Result<std::vector<Lexeme>> lex(std::string_view source) {
  if (source.size() > kMaxSourceBytes)
    return fail(Code::invalid, "the template has {} bytes; at most {} are read", source.size(),
                kMaxSourceBytes);
  const std::string text = with_plain_newlines(source);
  return TemplateLexer(text).run();
}

}  // namespace ruv::jinja
