// Codebooks of the IQ formats: entries of 8 or 4 magnitudes, packed as indices into the few
// magnitudes a book uses, first number lowest. The tables are facts of the file format.
#pragma once

#include <bit>
#include <cstdint>

namespace ruv {

// 8 indices of 2 bits an entry.
extern const uint16_t kGridIq2Xxs[256];
extern const uint16_t kGridIq2Xs[512];
extern const uint16_t kGridIq2S[1024];
extern const uint16_t kGridIq1S[2048];  // also IQ1_M
// 4 indices of 4 bits an entry.
extern const uint16_t kGridIq3Xxs[256];
extern const uint16_t kGridIq3S[512];

inline constexpr int8_t kMagnitudesIq2[4] = {8, 25, 43, 0};
inline constexpr int8_t kMagnitudesIq3Xxs[8] = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr int8_t kMagnitudesIq3S[8] = {1, 3, 5, 7, 9, 11, 13, 15};

// Number i of an entry as an index.
inline int grid_index_of_8(uint16_t entry, int i) { return (entry >> (2 * i)) & 3; }
inline int grid_index_of_4(uint16_t entry, int i) { return (entry >> (4 * i)) & 7; }

// Eight sign bits from the seven stored: the count of minus signs is always even.
inline uint8_t even_signs(uint32_t seven_bits) {
  return static_cast<uint8_t>(seven_bits | ((std::popcount(seven_bits) & 1U) << 7));
}
// ±1 for sign bit i.
inline float sign_at(uint8_t signs, int i) { return ((signs >> i) & 1) != 0 ? -1.0F : 1.0F; }

}  // namespace ruv
