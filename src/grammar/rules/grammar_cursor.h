// GrammarCursor: a place in the text of a grammar. What the readers of all syntaxes share: taking
// what comes next, numbers, escapes of characters, and errors that name line and column.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <string_view>

#include "base/result.h"

namespace ruv {

class GrammarCursor {
 public:
  // Larger grammars are not read.
  static constexpr size_t kMaxBytes = size_t{256} << 10;
  // Groups in each other: readers recurse on them.
  static constexpr int kMaxDepth = 200;
  // Larger counts of a repetition are not read.
  static constexpr uint32_t kMaxCount = 65535;

  // Reads from a text it does not own. `syntax` begins the errors: "GBNF".
  GrammarCursor(std::string_view text, std::string_view syntax) : text_(text), syntax_(syntax) {}

  // Fails: unsupported (the text is too long), corrupt (it is not UTF-8).
  Status check() const;

  bool done() const { return at_ == text_.size(); }
  // The next byte, 0 at the end.
  char peek() const { return done() ? '\0' : text_[at_]; }
  bool next_is(std::string_view text) const { return rest().starts_with(text); }
  // Takes `text` if it comes next.
  bool take(std::string_view text);
  // Takes bytes as long as they are of a kind: `is(char)`.
  template <typename Is>
  std::string_view take_while(Is&& is) {
    const size_t begin = at_;
    while (!done() && is(text_[at_])) ++at_;
    return from(begin);
  }
  // The position in bytes, and a way to another.
  size_t at() const { return at_; }
  void move_to(size_t at) { at_ = at; }
  std::string_view from(size_t at) const { return text_.substr(at, at_ - at); }
  std::string_view rest() const { return text_.substr(at_); }

  // The next character. Fails: corrupt (the text ends).
  Result<uint32_t> take_character();
  // A count of a repetition. Fails: corrupt (no digit), unsupported (above kMaxCount).
  Result<uint32_t> take_count();
  // n hexadecimal digits. Fails: corrupt (there are fewer, or they mean no character).
  Result<uint32_t> take_hex_digits(size_t n);

  // An error of the form: GBNF grammar: line 3, column 7: what. Columns are characters, from 1.
  // Counts the lines: linear time.
  tl::unexpected<Status> error_at(size_t at, Code code, std::string_view what) const;
  tl::unexpected<Status> error(Code code, std::string_view what) const {
    return error_at(at_, code, what);
  }

 private:
  std::string_view text_;
  std::string_view syntax_;
  size_t at_ = 0;
};

constexpr bool is_digit_byte(char c) { return c >= '0' && c <= '9'; }
// A letter in ASCII.
constexpr bool is_letter_byte(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// A name or text of a grammar for an error message: shortened when long.
std::string named_in_grammar(std::string_view name);

}  // namespace ruv
