// UTF-8: decode one code point, validate, and find where a text stops being whole characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ruv {

inline constexpr uint32_t kReplacement = 0xFFFD;
inline constexpr std::string_view kReplacementText = "\uFFFD";

struct CodePoint {
  uint32_t value = 0;  // kReplacement when the bytes are not valid UTF-8
  uint32_t size = 1;   // bytes used, at least 1
  bool valid = false;
};

// The character at text[at]. Requires: at < text.size(). Overlong forms, surrogates and values
// above U+10FFFF are invalid; an invalid byte is one character of size 1.
CodePoint decode_utf8(std::string_view text, size_t at);
// Requires: a character, that is below 0x110000 and not a surrogate.
void append_utf8(std::string& out, uint32_t code_point);
// Whether all of it is characters, as decode_utf8 finds them.
bool is_valid_utf8(std::string_view text);
// Bytes of `text` that form whole characters: everything but an unfinished sequence at the end.
// Invalid bytes count as whole, so the result is short of text.size() by at most 3.
size_t whole_utf8_prefix(std::string_view text);
// Bytes at text[at] that are one mistake: the longest beginning of a character, or one byte. As
// Unicode's "maximal subpart", which Python and Rust follow. Requires: decode_utf8 finds none valid
// there.
size_t invalid_utf8_size(std::string_view text, size_t at);
// Each mistake replaced by one U+FFFD.
std::string to_valid_utf8(std::string_view text);
// Each invalid byte replaced by one U+FFFD.
std::string to_valid_utf8_bytewise(std::string_view text);

}  // namespace ruv
