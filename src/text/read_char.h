// decode_utf8 with a fast path: valid characters of one to three bytes are decoded inline, and
// everything else, invalid bytes included, is left to decode_utf8.
#pragma once

#include <string_view>

#include "base/utf8.h"

namespace ruv {

// The character at text[at]. Requires: at < text.size().
inline CodePoint read_char(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const uint32_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  if (at + 3 <= text.size()) {
    if (first >= 0xC2 && first < 0xE0 && continues(1)) {
      return {(first & 0x1F) << 6 | (byte(1) & 0x3FU), 2, true};
    }
    // E0 and ED have rules of their own for the second byte.
    if (first > 0xE0 && first < 0xF0 && first != 0xED && continues(1) && continues(2)) {
      return {(first & 0x0F) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU), 3, true};
    }
  }
  return decode_utf8(text, at);
}

}  // namespace ruv
