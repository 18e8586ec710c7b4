// Q3_K: 256 numbers in 110 bytes, 16 sub-blocks of 16 with a six-bit scale each.
// value = d · (scale − 32) · (q − 4), q of three bits.
//
//   byte j         bit b: high bit of q of number 32b + j          (j 0..31, b 0..7)
//   byte 32+32h+j  bits 2p..2p+1: low bits of q of number 128h + 32p + j
//   byte 96+i      low nibble: low bits of scale i; high nibble: of scale i + 8   (i 0..7)
//   byte 104+i     bits 2k..2k+1: high bits of scale 4k + i                       (i 0..3)
//   byte 108..109  d, f16
#pragma once

#include <cstdint>

namespace ruv {

struct BlockQ3_K {
  static constexpr int kSize = 256;
  uint8_t high[32];
  uint8_t q[64];
  uint8_t scales[12];
  uint16_t d;
};
static_assert(sizeof(BlockQ3_K) == 110);

void decode_q3_k(const void* src, float* dst, int64_t n);
void encode_q3_k(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
