// Q5_0: 32 numbers in 22 bytes, value = d · (q − 16).
//
//   byte 0..1    d, f16
//   byte 2..5    32 bits, little-endian: bit j is the fifth bit of number j
//   byte 6+j     low nibble: four bits of number j; high nibble: of number j + 16
#pragma once

#include <cstdint>

namespace ruv {

struct BlockQ5_0 {
  static constexpr int kSize = 32;
  uint16_t d;
  uint8_t high[4];
  uint8_t q[16];
};
static_assert(sizeof(BlockQ5_0) == 22);

void decode_q5_0(const void* src, float* dst, int64_t n);
// The number of greatest magnitude becomes level 0 (−16).
void encode_q5_0(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
