// Characters by their names in HTML, and by their bytes in Windows-1252.
#pragma once

#include <cstdint>
#include <string_view>

namespace ruv {

// The longest name that html_character knows, in bytes.
inline constexpr size_t kMostEntityBytes = 8;

// "amp" without the signs around it; names have upper and lower case. 0: none is known.
uint32_t html_character(std::string_view name);
// U+FFFD where Windows-1252 has no character.
uint32_t windows_character(uint8_t byte);

}  // namespace ruv
