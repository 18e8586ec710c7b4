// Q4_0: 32 numbers in 18 bytes, value = d · (q − 8).
//
//   byte 0..1    d, f16
//   byte 2+j     low nibble: q of number j; high nibble: q of number j + 16
#pragma once

#include <cstdint>

namespace ruv {

struct BlockQ4_0 {
  static constexpr int kSize = 32;
  uint16_t d;
  uint8_t q[16];
};
static_assert(sizeof(BlockQ4_0) == 18);

void decode_q4_0(const void* src, float* dst, int64_t n);
// The number of greatest magnitude becomes level 0 (−8).
void encode_q4_0(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
