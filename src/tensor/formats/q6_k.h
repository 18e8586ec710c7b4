// Q6_K: 256 numbers in 210 bytes, 16 sub-blocks of 16 with a signed byte as scale each.
// value = d · scale · (q − 32), q of six bits.
//
//   byte 64h+32k+j    low nibble: low bits of number 128h + 32k + j,
//                     high nibble: of number 128h + 64 + 32k + j      (h, k 0..1, j 0..31)
//   byte 128+32h+j    bits 2p..2p+1: high bits of number 128h + 32p + j        (p 0..3)
//   byte 192+s        scale of sub-block s, int8
//   byte 208..209     d, f16
#pragma once

#include <cstdint>

namespace ruv {

struct BlockQ6_K {
  static constexpr int kSize = 256;
  uint8_t low[128];
  uint8_t high[64];
  int8_t scales[16];
  uint16_t d;
};
static_assert(sizeof(BlockQ6_K) == 210);

void decode_q6_k(const void* src, float* dst, int64_t n);
void encode_q6_k(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
