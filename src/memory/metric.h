// What "near" means for vectors.
#pragma once

#include <cstdint>
#include <span>

namespace ruv {

enum class Metric : uint8_t {
  l2,         // Σ (a - b)²
  cosine,     // 1 - cos of the angle; vectors are kept at length 1
  dot,        // -Σ a · b: the larger a product, the nearer
  manhattan,  // Σ |a - b|
};

// The largest number that a vector may have, so that no distance is infinite.
inline constexpr float kMostNumber = 1e15F;

// Scales a vector to length 1. False: it has no length that is a finite number, and stays.
bool normalise(std::span<float> numbers);

}  // namespace ruv
