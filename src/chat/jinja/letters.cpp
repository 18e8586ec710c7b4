// Case by the regular layout of the Unicode blocks: letters of one case lie a fixed distance from
// the other, or alternate even and odd.
#include "chat/jinja/letters.h"

#include "base/utf8.h"

namespace ruv::jinja {

namespace {

bool within(uint32_t c, uint32_t first, uint32_t last) { return c >= first && c <= last; }

// Blocks in which an even code point is upper case and the next odd one its lower case.
bool pairs_from_even(uint32_t c) {
  return within(c, 0x100, 0x12F) || within(c, 0x132, 0x137) || within(c, 0x14A, 0x177) ||
         within(c, 0x460, 0x481) || within(c, 0x48A, 0x4BF) || within(c, 0x4D0, 0x52F) ||
         within(c, 0x1E00, 0x1E95) || within(c, 0x1EA0, 0x1EFF);
}
bool pairs_from_odd(uint32_t c) {
  return within(c, 0x139, 0x148) || within(c, 0x179, 0x17E) || within(c, 0x4C1, 0x4CE);
}

}  // namespace

uint32_t to_upper(uint32_t c) {
  if (within(c, 'a', 'z')) return c - 32;
  if (c < 0x80) return c;
  if (c == 0xB5) return 0x39C;
  if (c == 0xFF) return 0x178;
  if (within(c, 0xE0, 0xFE) && c != 0xF7) return c - 32;
  if (pairs_from_even(c)) return c & ~1U;
  if (pairs_from_odd(c)) return (c & 1) ? c : c - 1;
  if (c == 0x3AC) return 0x386;
  if (within(c, 0x3AD, 0x3AF)) return c - 37;
  if (c == 0x3C2) return 0x3A3;
  if (within(c, 0x3B1, 0x3CB)) return c - 32;
  if (c == 0x3CC) return 0x38C;
  if (within(c, 0x3CD, 0x3CE)) return c - 63;
  if (within(c, 0x430, 0x44F)) return c - 32;
  if (within(c, 0x450, 0x45F)) return c - 80;
  if (within(c, 0x561, 0x586)) return c - 48;
  return c;
}

uint32_t to_lower(uint32_t c) {
  if (within(c, 'A', 'Z')) return c + 32;
  if (c < 0x80) return c;
  if (within(c, 0xC0, 0xDE) && c != 0xD7) return c + 32;
  if (c == 0x178) return 0xFF;
  if (pairs_from_even(c)) return c | 1U;
  if (pairs_from_odd(c)) return (c & 1) ? c + 1 : c;
  if (c == 0x386) return 0x3AC;
  if (within(c, 0x388, 0x38A)) return c + 37;
  if (within(c, 0x391, 0x3AB) && c != 0x3A2) return c + 32;
  if (c == 0x38C) return 0x3CC;
  if (within(c, 0x38E, 0x38F)) return c + 63;
  if (within(c, 0x410, 0x42F)) return c + 32;
  if (within(c, 0x400, 0x40F)) return c + 80;
  if (within(c, 0x531, 0x556)) return c + 48;
  return c;
}

bool is_space(uint32_t c) {
  return within(c, 0x09, 0x0D) || within(c, 0x1C, 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         within(c, 0x2000, 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_printable(uint32_t c) {
  if (c < 0x7F) return c >= 0x20;
  if (c <= 0xA0 || c == 0xAD) return false;
  if (is_space(c)) return false;
  if (c < 0x2000) {
    return !within(c, 0x600, 0x605) && c != 0x61C && c != 0x6DD && c != 0x70F && c != 0x180E;
  }
  return !within(c, 0x200B, 0x200F) && !within(c, 0x202A, 0x202E) && !within(c, 0x2060, 0x206F) &&
         !within(c, 0xD800, 0xF8FF) && c != 0xFEFF && !within(c, 0xFFF0, 0xFFFB) &&
         (c & 0xFFFE) != 0xFFFE && c < 0xE0000;
}

bool is_letter(uint32_t c) {
  if (c < 0x80) return within(c | 32, 'a', 'z');
  if (c < 0xC0) return c == 0xAA || c == 0xB5 || c == 0xBA;
  if (c == 0xD7 || c == 0xF7) return false;
  // Combining marks, punctuation, symbols, private use and emoji are not letters.
  return is_printable(c) && !within(c, 0x300, 0x36F) && !within(c, 0x2000, 0x2C00 - 1) &&
         !within(c, 0x3000, 0x3004) && !within(c, 0x3007, 0x3030) && !within(c, 0xFE00, 0xFE6F) &&
         !within(c, 0xFF00, 0xFF20) && !within(c, 0x1F000, 0x1FAFF);
}

bool is_digit(uint32_t c) { return within(c, '0', '9'); }
bool is_word(uint32_t c) { return is_letter(c) || is_digit(c) || c == '_'; }

size_t last_character_size(std::string_view text, size_t end) {
  for (size_t size = 1; size <= 4 && size <= end; ++size) {
    const CodePoint c = decode_utf8(text, end - size);
    if (c.valid) return c.size == size ? size : 1;
  }
  return 1;
}

size_t leading_space(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const CodePoint c = decode_utf8(text, at);
    if (!c.valid || !is_space(c.value)) break;
    at += c.size;
  }
  return at;
}

size_t trailing_space(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    const size_t size = last_character_size(text, end);
    const CodePoint c = decode_utf8(text, end - size);
    if (!c.valid || !is_space(c.value)) break;
    end -= size;
  }
  return text.size() - end;
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); at += decode_utf8(text, at).size) ++count;
  return count;
}

size_t byte_of_character(std::string_view text, size_t characters, size_t from) {
  size_t at = from;
  for (; characters > 0 && at < text.size(); --characters) at += decode_utf8(text, at).size;
  return at;
}

}  // namespace ruv::jinja
