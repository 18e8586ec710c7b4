// IQ3_XXS, IQ3_S: 256 numbers as 64 entries of a codebook of 4 magnitudes each, with signs and
// four-bit scales for 32 numbers.
//
//   IQ3_XXS, 98 bytes                        IQ3_S, 110 bytes
//   value = d · (0.5 + scale) · 0.5 · …      value = d · (1 + 2 · scale) · …
//   0..1    d, f16                           0..1     d, f16
//   2+j     entry of numbers 4j..4j+3        2+j      low 8 bits of entry j
//   66+4g   u32 for 32 numbers:              66+g     bit i: ninth bit of entry 8g + i
//     4 × 7 sign bits, bits 28-31 scale      74+j     signs of numbers 8j..8j+7
//                                            106+h    two scales: low nibble first
#pragma once

#include <cstdint>

namespace ruv {

struct BlockIQ3_XXS {
  static constexpr int kSize = 256;
  uint16_t d;
  uint8_t q[64];
  uint16_t signs_and_scales[16];
};
static_assert(sizeof(BlockIQ3_XXS) == 98);

struct BlockIQ3_S {
  static constexpr int kSize = 256;
  uint16_t d;
  uint8_t q[64];
  uint8_t high[8];
  uint8_t signs[32];
  uint8_t scales[4];
};
static_assert(sizeof(BlockIQ3_S) == 110);

// Encoders search for the entries and scales of least error (grid_fit.h): importance as in Format.
void decode_iq3_xxs(const void* src, float* dst, int64_t n);
void encode_iq3_xxs(const float* src, const float* importance, void* dst, int64_t n);
void decode_iq3_s(const void* src, float* dst, int64_t n);
void encode_iq3_s(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
