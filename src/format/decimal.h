// Numbers of GGUF files, which are float32, as decimal text has them.
#pragma once

#include <array>
#include <charconv>

#include "base/number_text.h"

namespace ruv {

// The number with the fewest digits that is the same as float32; as it is where float32 does not
// have it.
inline double shortest_number(double number) {
  const auto narrow = static_cast<float>(number);
  if (double{narrow} != number) return number;
  std::array<char, 64> text;
  const auto [end, wrong] = std::to_chars(text.data(), text.data() + text.size(), narrow);
  double shortest = number;
  if (wrong != std::errc()) return number;
  read_number({text.data(), static_cast<size_t>(end - text.data())}, shortest);
  return shortest;
}

}  // namespace ruv
