// For tests: random numbers in [-1, 1).
#pragma once

#include <vector>

#include "base/rng.h"

namespace ruv {

using Numbers = std::vector<float>;

inline Numbers random_numbers(int64_t n, uint64_t seed) {
  Rng rng(seed);
  Numbers x(static_cast<size_t>(n));
  for (float& v : x) v = static_cast<float>(rng.uniform() * 2 - 1);
  return x;
}

}  // namespace ruv
