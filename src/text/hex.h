// Numbers in hexadecimal digits, as patterns, vocabularies and byte tokens write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ruv {

// The value of a digit of either case, or -1.
constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The value of 1 to 8 digits; nothing for any other text.
constexpr std::optional<uint32_t> parse_hex(std::string_view digits) {
  if (digits.empty() || digits.size() > 8) return std::nullopt;
  uint32_t value = 0;
  for (const char c : digits) {
    if (hex_value(c) < 0) return std::nullopt;
    value = value * 16 + static_cast<uint32_t>(hex_value(c));
  }
  return value;
}

// The byte of a token "<0x1F>", which SentencePiece writes with capital digits.
constexpr std::optional<uint8_t> byte_of_token(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  if (text[3] >= 'a' || text[4] >= 'a') return std::nullopt;
  const std::optional<uint32_t> value = parse_hex(text.substr(3, 2));
  if (!value) return std::nullopt;
  return static_cast<uint8_t>(*value);
}

}  // namespace ruv
