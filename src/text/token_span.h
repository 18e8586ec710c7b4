// TokenSpan: the place of a token in a text.
#pragma once

#include <cstdint>

namespace ruv {

// Bytes [begin, end) of the text that was encoded. Tokens of one character share its bytes.
struct TokenSpan {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const TokenSpan&) const = default;
};

}  // namespace ruv
