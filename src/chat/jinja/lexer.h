// Lexer of templates: splits the source into text outside tags and the lexemes inside them. White
// space around tags is removed here, by the rules of trim_blocks and lstrip_blocks and by - and +
// in tags; comments are dropped and raw blocks become text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ruv::jinja {

// A position in the template, both numbers from 1; columns count bytes.
struct Place {
  uint32_t line = 0;
  uint32_t column = 0;
};

// What a lexeme is.
enum class LexemeKind : uint8_t {
  text,            // outside of tags
  variable_begin,  // {{
  variable_end,
  block_begin,  // {%
  block_end,
  name,
  string,
  integer,
  real,
  sign,  // an operator or bracket
  end,
};

// A lexeme with its position and value.
struct Lexeme {
  LexemeKind kind = LexemeKind::end;
  Place place;
  std::string text;  // name, sign, or the value of text and string
  int64_t integer = 0;
  // The base of a whole number beyond 64 bits, whose digits are in `text`; else 0.
  int wide_base = 0;
  double real = 0;

  // Whether it is this operator, bracket or name.
  bool is_sign(std::string_view sign) const { return kind == LexemeKind::sign && text == sign; }
  bool is_name(std::string_view name) const { return kind == LexemeKind::name && text == name; }
};

// "line 3, column 7".
std::string describe(Place place);

// Longer templates are refused.
inline constexpr size_t kMaxSourceBytes = 1 << 20;

// Splits a template. The last lexeme is of kind `end`. Fails: corrupt (with the position), invalid
// (longer than kMaxSourceBytes).
Result<std::vector<Lexeme>> lex(std::string_view source);

}  // namespace ruv::jinja
