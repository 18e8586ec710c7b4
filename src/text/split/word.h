// Word: a stretch of a text.
#pragma once

#include <cstdint>

namespace ruv {

// Bytes [begin, end) of a text.
struct Word {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const Word&) const = default;
};

}  // namespace ruv
