// Printable Latin-1 characters stand for themselves; the 68 other bytes take U+0100 and on.
#include "text/bpe/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace ruv {
namespace {

constexpr bool is_printable(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD && byte <= 0xFF);
}

constexpr uint32_t kCharacters = 0x100 + 68;

struct Alphabet {
  std::array<uint16_t, 256> character{};
  std::array<int16_t, kCharacters> byte{};
};

constexpr Alphabet kAlphabet = [] {
  Alphabet a;
  for (int16_t& byte : a.byte) byte = -1;
  uint32_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint32_t c = is_printable(byte) ? byte : next++;
    a.character[byte] = static_cast<uint16_t>(c);
    a.byte[c] = static_cast<int16_t>(byte);
  }
  return a;
}();

}  // namespace

std::string to_byte_alphabet(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) append_utf8(out, kAlphabet.character[static_cast<uint8_t>(c)]);
  return out;
}

std::optional<size_t> decode_byte_alphabet(std::string_view text, char* out) {
  const char* begin = out;
  for (size_t i = 0; i < text.size();) {
    const char first = text[i];
    if (first > 0x20 && first < 0x7F) {
      *out++ = first;
      ++i;
      continue;
    }
    const CodePoint c = decode_utf8(text, i);
    if (!c.valid || c.value >= kCharacters || kAlphabet.byte[c.value] < 0) return std::nullopt;
    *out++ = static_cast<char>(kAlphabet.byte[c.value]);
    i += c.size;
  }
  return static_cast<size_t>(out - begin);
}

}  // namespace ruv
