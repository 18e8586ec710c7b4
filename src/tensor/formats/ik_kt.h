// IQ1_KT to IQ4_KT, formats of ik_llama.cpp after QTIP (arXiv 2406.11235): the numbers of a group
// are not in a table but come from a generator, whose start is the group's index. One row has a
// scale d, f32, in front of its blocks of 256 numbers. We only read them.
//
// The state x is index + 4096; for each number x becomes x · 0xCBAC1FED modulo 2^32, and the number
// is the sum of the low six bits of the four bytes of x, less 126.
//
//   IQ1_KT, 56 bytes, groups of 8     IQ2_KT, 68 bytes, groups of 8
//   s      bits 0-3: the scale's      k      low nibble: the index of scale k, high: of k + 4, both
//          index in the levels of            in the levels of IQ4_NL
//          IQ4_NL; bit 4+i: bit 12    4+2g   u16, the index of group g
//          of group 4s + i
//   8+g    low 8 bits of group g      IQ3_KT, 100 bytes, groups of 8 of magnitudes
//   40+k   bits 8-11 of group k (low  as IQ2_KT, the nibble being the scale itself;
//          nibble) and k + 16         68+i   bit s: number 32 s + i is negative
//
//   IQ4_KT, 128 bytes, groups of 4
//   4 s    u32: bit 0: states start from index + 4096 + 32768; bits 1-7 the scale, less 64;
//          bits 8+3i..10+3i: bits 12-14 of group 8 s + i
//   32+g   low 8 bits of group g
//   96+k   bits 8-11 of group k (low nibble) and k + 32
#pragma once

#include <cstdint>

namespace ruv {

struct BlockIQ1_KT {
  static constexpr int kSize = 256;
  uint8_t scales[8];
  uint8_t q[32];
  uint8_t high[16];
};
static_assert(sizeof(BlockIQ1_KT) == 56);

struct BlockIQ2_KT {
  static constexpr int kSize = 256;
  uint8_t scales[4];
  uint16_t q[32];
};
static_assert(sizeof(BlockIQ2_KT) == 68);

// Signs have bits of their own, so that a group's index chooses among magnitudes only.
struct BlockIQ3_KT {
  static constexpr int kSize = 256;
  uint8_t scales[4];
  uint16_t q[32];
  uint8_t signs[32];
};
static_assert(sizeof(BlockIQ3_KT) == 100);

// Twice as many generators as the others: the lowest bit of a scale moves its groups' states.
struct BlockIQ4_KT {
  static constexpr int kSize = 256;
  uint32_t scales[8];
  uint8_t q[64];
  uint8_t high[32];
};
static_assert(sizeof(BlockIQ4_KT) == 128);

// Each decodes one whole row, a header and n / 256 blocks, at any address.
void decode_iq1_kt(const void* src, float* dst, int64_t n);
void decode_iq2_kt(const void* src, float* dst, int64_t n);
void decode_iq3_kt(const void* src, float* dst, int64_t n);
void decode_iq4_kt(const void* src, float* dst, int64_t n);

}  // namespace ruv
