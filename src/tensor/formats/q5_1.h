// Q5_1: 32 numbers in 24 bytes, value = d · q + m.
//
//   byte 0..1    d, f16
//   byte 2..3    m, f16: the least number
//   byte 4..7    32 bits, little-endian: bit j is the fifth bit of number j
//   byte 8+j     low nibble: four bits of number j; high nibble: of number j + 16
#pragma once

#include <cstdint>

namespace ruv {

struct BlockQ5_1 {
  static constexpr int kSize = 32;
  uint16_t d;
  uint16_t m;
  uint8_t high[4];
  uint8_t q[16];
};
static_assert(sizeof(BlockQ5_1) == 24);

void decode_q5_1(const void* src, float* dst, int64_t n);
void encode_q5_1(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
