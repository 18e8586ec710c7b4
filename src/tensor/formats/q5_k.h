// Q5_K: 256 numbers in 176 bytes, 8 sub-blocks of 32 with a scale and a minimum of six bits each.
// value = d · scale · q − dmin · min.
//
//   byte 0..1      d, f16
//   byte 2..3      dmin, f16
//   byte 4..15     scales and minima, see SixBitPairs (q4_k.h)
//   byte 16+j      bit s: high bit of q of number 32s + j                (j 0..31, s 0..7)
//   byte 48+32h+j  low nibble: q of number 64h + j; high nibble: of number 64h + 32 + j
#pragma once

#include <cstdint>

#include "tensor/formats/q4_k.h"

namespace ruv {

struct BlockQ5_K {
  static constexpr int kSize = 256;
  uint16_t d;
  uint16_t dmin;
  SixBitPairs scales;
  uint8_t high[32];
  uint8_t q[128];
};
static_assert(sizeof(BlockQ5_K) == 176);

void decode_q5_k(const void* src, float* dst, int64_t n);
void encode_q5_k(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
