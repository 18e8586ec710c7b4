// The byte alphabet of GPT-2 (Radford et al., 2019): each byte is written as a printable character,
// so that a vocabulary of byte strings can be stored as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ruv {

// Each byte of `bytes` as its printable character, UTF-8.
std::string to_byte_alphabet(std::string_view bytes);
// Writes the bytes that `text` spells to `out`, which must have room for text.size() bytes.
// Returns their number; nothing when a character is outside the alphabet.
std::optional<size_t> decode_byte_alphabet(std::string_view text, char* out);

}  // namespace ruv
