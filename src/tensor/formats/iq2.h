// IQ2_XXS, IQ2_XS, IQ2_S: 256 numbers as 32 entries of a codebook of 8 magnitudes each, with signs
// and four-bit scales. value = d · (0.5 + scale) · 0.25 · magnitude · sign.
//
//   IQ2_XXS, 66 bytes              IQ2_XS, 74 bytes               IQ2_S, 82 bytes
//   0..1    d, f16                 0..1    d, f16                 0..1    d, f16
//   2+8g    for each 32 numbers:   2+2j    u16 for 8 numbers:     2+j     low 8 bits of entry j
//     4 × u8 entries                 bits 0-8   entry             34+j    signs of 8 numbers
//     u32: 4 × 7 sign bits,          bits 9-15  signs             66+g    2 high bits of each of
//          bits 28-31 scale        66+g    2 × 4 bit scales,              entries 4g..4g+3
//                                          one per 16 numbers     74+g    as IQ2_XS
#pragma once

#include <cstdint>

namespace ruv {

struct BlockIQ2_XXS {
  static constexpr int kSize = 256;
  uint16_t d;
  uint16_t q[32];
};
static_assert(sizeof(BlockIQ2_XXS) == 66);

struct BlockIQ2_XS {
  static constexpr int kSize = 256;
  uint16_t d;
  uint16_t q[32];
  uint8_t scales[8];
};
static_assert(sizeof(BlockIQ2_XS) == 74);

struct BlockIQ2_S {
  static constexpr int kSize = 256;
  uint16_t d;
  uint8_t q[32];
  uint8_t signs[32];
  uint8_t high[8];
  uint8_t scales[8];
};
static_assert(sizeof(BlockIQ2_S) == 82);

// Encoders search for the entries and scales of least error (grid_fit.h): importance as in Format.
void decode_iq2_xxs(const void* src, float* dst, int64_t n);
void encode_iq2_xxs(const float* src, const float* importance, void* dst, int64_t n);
void decode_iq2_xs(const void* src, float* dst, int64_t n);
void encode_iq2_xs(const float* src, const float* importance, void* dst, int64_t n);
void decode_iq2_s(const void* src, float* dst, int64_t n);
void encode_iq2_s(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
