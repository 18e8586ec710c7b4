// Q4_K: 256 numbers in 144 bytes, 8 sub-blocks of 32 with a scale and a minimum of six bits each.
// value = d · scale · q − dmin · min.
//
//   byte 0..1      d, f16
//   byte 2..3      dmin, f16
//   byte 4..15     scales and minima, see SixBitPairs
//   byte 16+32h+j  low nibble: q of number 64h + j; high nibble: of number 64h + 32 + j
#pragma once

#include <cstdint>

namespace ruv {

// Eight scales and eight minima of six bits in 12 bytes, as Q4_K and Q5_K store them:
//
//   byte i     bits 0-5: scale i      bits 6-7: high bits of scale i + 4    (i 0..3)
//   byte 4+i   bits 0-5: min i        bits 6-7: high bits of min i + 4
//   byte 8+i   low nibble: scale i + 4        high nibble: min i + 4
struct SixBitPairs {
  uint8_t bytes[12];

  int scale(int i) const {
    return i < 4 ? bytes[i] & 63 : (bytes[i + 4] & 0xF) | ((bytes[i - 4] >> 6) << 4);
  }
  int min(int i) const {
    return i < 4 ? bytes[i + 4] & 63 : (bytes[i + 4] >> 4) | ((bytes[i] >> 6) << 4);
  }
  // Requires: the bits of pair i are zero; 0 <= scale, min < 64.
  void put(int i, int scale, int min);
};

struct BlockQ4_K {
  static constexpr int kSize = 256;
  uint16_t d;
  uint16_t dmin;
  SixBitPairs scales;
  uint8_t q[128];
};
static_assert(sizeof(BlockQ4_K) == 144);

void decode_q4_k(const void* src, float* dst, int64_t n);
void encode_q4_k(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
