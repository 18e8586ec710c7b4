// Q2_K: 256 numbers in 84 bytes, 16 sub-blocks of 16 with a scale and a minimum of four bits each.
// value = d · scale · q − dmin · min.
//
//   byte s         low nibble: scale of sub-block s; high nibble: its min
//   byte 16+32h+j  bits 2p..2p+1: q of number 128h + 32p + j     (h 0..1, p 0..3, j 0..31)
//   byte 80..81    d, f16
//   byte 82..83    dmin, f16
#pragma once

#include <cstdint>

namespace ruv {

struct BlockQ2_K {
  static constexpr int kSize = 256;
  uint8_t scales[16];
  uint8_t q[64];
  uint16_t d;
  uint16_t dmin;
};
static_assert(sizeof(BlockQ2_K) == 84);

void decode_q2_k(const void* src, float* dst, int64_t n);
void encode_q2_k(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
