// The byte alphabet of GPT-2 (Radford et al., 2019): each byte is written as a printable character,
// so that a vocabulary of byte strings can be stored as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ruv {

// Each byte of `bytes` as its printable character, UTF-8.
std::string to_byte_alphabet(std::string_view bytes);
// The bytes that `text` spells; nothing when a character is outside the alphabet.
std::optional<std::string> from_byte_alphabet(std::string_view text);
// The same into `out`, which must have room for text.size() bytes; returns the number written.
std::optional<size_t> decode_byte_alphabet(std::string_view text, char* out);

}  // namespace ruv
