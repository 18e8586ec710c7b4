// The character by which vocabularies of SentencePiece write a space.
#pragma once

#include <string_view>

namespace ruv {

// U+2581, three bytes of UTF-8.
inline constexpr std::string_view kSpaceMark = "\u2581";

}  // namespace ruv
