// Q4_1: 32 numbers in 20 bytes, value = d · q + m.
//
//   byte 0..1    d, f16
//   byte 2..3    m, f16: the least number
//   byte 4+j     low nibble: q of number j; high nibble: q of number j + 16
#pragma once

#include <cstdint>

namespace ruv {

struct BlockQ4_1 {
  static constexpr int kSize = 32;
  uint16_t d;
  uint16_t m;
  uint8_t q[16];
};
static_assert(sizeof(BlockQ4_1) == 20);

void decode_q4_1(const void* src, float* dst, int64_t n);
void encode_q4_1(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
