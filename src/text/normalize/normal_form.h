// Unicode normalisation forms (annex 15): decompose each character, sort each run of marks by
// combining class, and for the composed forms recombine. Linear time except for that sort, so that
// hostile text with a million marks costs n log n.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ruv {

enum class NormalForm : uint8_t { c, d, kc, kd };

// A character between steps. An invalid byte has the value kInvalidByte + byte.
struct OriginChar {
  uint32_t value = 0;
  uint32_t origin = 0;  // where its bytes begin in the original text
};
inline constexpr uint32_t kInvalidByte = 0x40000000;

// True: normalising would surely not change `text`. Cheap; false proves nothing.
bool is_surely_normal(std::string_view text, NormalForm form);
// The same for characters.
bool is_surely_normal(const std::vector<OriginChar>& text, NormalForm form);
// Brings `text` into the form. Invalid bytes separate the characters around them. A composed
// character has the origin of its first part. `scratch` is working memory.
void normalize(std::vector<OriginChar>& text, NormalForm form, std::vector<OriginChar>& scratch);

// `text` in NFC. Invalid bytes are kept.
std::string nfc(std::string_view text);

}  // namespace ruv
