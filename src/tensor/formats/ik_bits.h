// Small formats of ik_llama.cpp: ternary digits with a scale for the row, in front of its blocks of
// 64 numbers, and Q6_0. We only read them.
//
//   IQ1_BN, f16, 13 bytes: five digits a byte, the last on top: byte k has numbers 16 (k / 3) +
//     5 (k mod 3) + i; byte 12 has the four numbers 16 i + 15. A digit is the integer part of
//     3/256 of the byte after 4 - i digits left its top. value = d · (digit - 1)
//   IQ2_BN, f32, 16 bytes: bits 2p of byte j: number 16 p + j. value = d · (digit - 1)
//   Q6_0, 32 numbers, 26 bytes: 0..1 d, f16; 2+k bits 4-5 of numbers k, k + 16, k + 8, k + 24 from
//     bit 0 up; 10+j low nibble of number j, high of j + 16. value = d · (level - 32)
#pragma once

#include <cstdint>

namespace ruv {

// 1.625 bits a number: 3^5 = 243 of the 256 values of a byte are used.
struct BlockIQ1_BN {
  static constexpr int kSize = 64;
  uint8_t q[12];
  uint8_t last;
};
static_assert(sizeof(BlockIQ1_BN) == 13);

struct BlockIQ2_BN {
  static constexpr int kSize = 64;
  uint8_t q[16];
};
static_assert(sizeof(BlockIQ2_BN) == 16);

struct BlockQ6_0 {
  static constexpr int kSize = 32;
  uint16_t d;
  uint8_t high[8];
  uint8_t q[16];
};
static_assert(sizeof(BlockQ6_0) == 26);

// IQ1_BN and IQ2_BN decode one whole row, a header and n / 64 blocks; Q6_0 any whole blocks.
void decode_iq1_bn(const void* src, float* dst, int64_t n);
void decode_iq2_bn(const void* src, float* dst, int64_t n);
void decode_q6_0(const void* src, float* dst, int64_t n);

}  // namespace ruv
