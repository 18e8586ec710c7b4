// IQ1_S, IQ1_M: 256 numbers as 32 entries of a codebook of 8 ternary digits, all moved by ±1/8.
// value = d · (2 · scale + 1) · (digit ± 0.125).
//
//   IQ1_S, 50 bytes                          IQ1_M, 56 bytes
//   0..1    d, f16                           0+j     low 8 bits of entry j
//   2+j     low 8 bits of entry j            32+h    nibble i for entry 2h + i: bits 0-2 its high
//   34+2g   u16 for 32 numbers:                      bits, bit 3 set: minus
//     bits 3i..3i+2   high bits of entry i   48+2k   u16 for 64 numbers:
//     bits 12-14      scale                    bits 3i..3i+2   scale of the i-th 16 numbers
//     bit 15          set: minus               bits 12-15      bits 4k..4k+3 of d, f16
#pragma once

#include <cstdint>

namespace ruv {

struct BlockIQ1_S {
  static constexpr int kSize = 256;
  uint16_t d;
  uint8_t q[32];
  uint16_t high[8];
};
static_assert(sizeof(BlockIQ1_S) == 50);

struct BlockIQ1_M {
  static constexpr int kSize = 256;
  uint8_t q[32];
  uint8_t high[16];
  uint16_t scales[4];
};
static_assert(sizeof(BlockIQ1_M) == 56);

// Encoders search for the entries and scales of least error (grid_fit.h): importance as in Format.
void decode_iq1_s(const void* src, float* dst, int64_t n);
void encode_iq1_s(const float* src, const float* importance, void* dst, int64_t n);
void decode_iq1_m(const void* src, float* dst, int64_t n);
void encode_iq1_m(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
