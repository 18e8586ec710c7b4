// What "near" means for vectors.
#pragma once

#include <cstdint>

namespace ruv {

enum class Metric : uint8_t {
  l2,         // Σ (a - b)²
  cosine,     // 1 - cos of the angle; vectors are kept at length 1
  dot,        // -Σ a · b: the larger a product, the nearer
  manhattan,  // Σ |a - b|
};

}  // namespace ruv
