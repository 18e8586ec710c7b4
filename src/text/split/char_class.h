// Classes of characters as sets of bits: one bit per Unicode general category, one for white space
// and one for line ends. A class of a regular expression is then a mask, and membership is one AND.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/utf8.h"

namespace ruv {

using CharSet = uint32_t;

namespace chars {
// General categories and their groups, as \p{Lu}, \p{L}, … mean them. Bit n is category n in the
// order of utf8proc_category_t.
inline constexpr CharSet kUpper = 1U << 1;
inline constexpr CharSet kLower = 1U << 2;
inline constexpr CharSet kTitle = 1U << 3;
inline constexpr CharSet kModifier = 1U << 4;
inline constexpr CharSet kOtherLetter = 1U << 5;
inline constexpr CharSet kLetter = kUpper | kLower | kTitle | kModifier | kOtherLetter;
inline constexpr CharSet kMark = 7U << 6;
inline constexpr CharSet kDecimal = 1U << 9;
inline constexpr CharSet kNumber = 7U << 9;
inline constexpr CharSet kConnector = 1U << 12;
inline constexpr CharSet kPunctuation = 0x7FU << 12;
inline constexpr CharSet kSymbol = 0xFU << 19;
inline constexpr CharSet kSpace = 1U << 30;    // \s: the property White_Space
inline constexpr CharSet kNewline = 1U << 31;  // \r or \n
}  // namespace chars

// The bits of one code point: its category and the two properties.
CharSet char_set(uint32_t code_point);

// One character of a text. Past the end: size 0 and an empty set, which is in no class.
struct Char {
  CharSet set = 0;
  uint32_t value = 0;
  uint32_t size = 0;
  bool in(CharSet any) const { return (set & any) != 0; }
  // In a class written [^…]. Past the end is outside every class.
  bool outside(CharSet none) const { return size != 0 && (set & none) == 0; }
};

// The character at `at`, past the end allowed. An invalid byte counts as U+FFFD, a symbol.
Char char_at(std::string_view text, size_t at);

}  // namespace ruv
