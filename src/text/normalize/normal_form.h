// Normalisation forms of Unicode (annex 15), in linear time but for a sort of each run of marks,
// so that hostile text with a million marks costs no more than its size times a logarithm.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ruv {

enum class NormalForm : uint8_t { c, d, kc, kd };

// A character on its way through steps. An invalid byte has the value kInvalidByte + byte.
struct OriginChar {
  uint32_t value = 0;
  uint32_t origin = 0;  // where in the text before its bytes begin
};
inline constexpr uint32_t kInvalidByte = 0x40000000;

// True when text in this form is surely `text`. Cheap.
bool is_surely_normal(std::string_view text, NormalForm form);
// As above, of characters.
bool is_surely_normal(const std::vector<OriginChar>& text, NormalForm form);
// Brings `text` into the form. Invalid bytes separate what stands around them. A composed character
// has the origin of its first. `scratch` is room for work.
void normalize(std::vector<OriginChar>& text, NormalForm form, std::vector<OriginChar>& scratch);

// True when nfc(text) is surely `text`.
bool is_surely_nfc(std::string_view text);
// `text` in NFC. Invalid bytes stay as they are.
std::string nfc(std::string_view text);

}  // namespace ruv
