// Range: a half-open interval of items, and how work is cut into such parts.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ruv {

// Items [begin, end); empty when they are equal.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

// Part `index` of `n_parts` nearly equal parts of n items, cut at multiples of `unit`. The parts
// cover all items in order; some are empty when there are fewer units than parts.
inline Range part_of(int64_t n, int index, int n_parts, int64_t unit = 1) {
  const int64_t units = (n + unit - 1) / unit;
  const auto cut = [&](int64_t i) { return std::min(n, units * i / n_parts * unit); };
  return {cut(index), cut(index + 1)};
}

}  // namespace ruv
