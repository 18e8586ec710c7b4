// IQ2_K to IQ6_K, formats of ik_llama.cpp: 256 numbers with an integer scale for each 16 and levels
// of two sets. value = d · scale · level. We only read them.
//
//   IQ2_K, 76 bytes        IQ3_K, 110 bytes       IQ4_K, 144 bytes       IQ5_K, 176 bytes
//   0..1   d, f16          0..1   d               0..1    d              0..1     d
//   2..3   u16: bit s the  2..3   sets            2..3    sets           2..3     sets
//          set of scale s  4..5   u16: bit s set: 4..7    scales' high   4..7     as IQ4_K
//   4+h    scales 2h (low         scale s is              bits: 2 of s   8..15    as IQ4_K
//          nibble), 2h+1,         minus                   at bit 2s      16..143  low 4 bits
//          each - 8        6+h    nibbles: scale  8+h     low nibbles;   144..175 fifth bits
//   12..75 indices, 2 bits        2 · n + 1               scale - 32
//                          14..77 low 2 bits      16..143 indices
//                          78..109 third bits
//
//   IQ6_K, 212 bytes: 0..1 d; 2..3 u16: bit s: the level is raised by 1; 4+s scale s, i8;
//   20..147 low 4 bits; 148..211 high 2 bits. The level of index q is a cubic polynomial.
//
// Two bits of an index: number 32 g + j at bit 2 (g mod 4) of byte 32 (g / 4) + j. Four in IQ4_K:
// number 32 g + j in byte 16 g + j mod 16, low nibble if j < 16; in IQ5_K and IQ6_K: number
// 64 b + j in byte 32 b + j mod 32, low nibble if j < 32.
#pragma once

#include <cstdint>

namespace ruv {

struct BlockIQ2_K {
  static constexpr int kSize = 256;
  uint16_t d;
  uint16_t sets;
  uint8_t scales[8];
  uint8_t q[64];
};
static_assert(sizeof(BlockIQ2_K) == 76);

struct BlockIQ3_K {
  static constexpr int kSize = 256;
  uint16_t d;
  uint16_t sets;
  uint16_t minus;
  uint8_t scales[8];
  uint8_t q[64];
  uint8_t high[32];
};
static_assert(sizeof(BlockIQ3_K) == 110);

struct BlockIQ4_K {
  static constexpr int kSize = 256;
  uint16_t d;
  uint16_t sets;
  uint8_t scales_high[4];
  uint8_t scales_low[8];
  uint8_t q[128];
};
static_assert(sizeof(BlockIQ4_K) == 144);

struct BlockIQ5_K {
  static constexpr int kSize = 256;
  uint16_t d;
  uint16_t sets;
  uint8_t scales_high[4];
  uint8_t scales_low[8];
  uint8_t q[128];
  uint8_t high[32];
};
static_assert(sizeof(BlockIQ5_K) == 176);

// Levels beyond five bits would need a table of 128 numbers; a polynomial takes its place.
struct BlockIQ6_K {
  static constexpr int kSize = 256;
  uint16_t d;
  uint16_t raised;
  int8_t scales[16];
  uint8_t q[128];
  uint8_t high[64];
};
static_assert(sizeof(BlockIQ6_K) == 212);

// The numbers in every bit as the standard's decoder has them: d · scale is rounded to float32
// first. n is a multiple of 256, src at any address.
void decode_iq2_k(const void* src, float* dst, int64_t n);
void decode_iq3_k(const void* src, float* dst, int64_t n);
void decode_iq4_k(const void* src, float* dst, int64_t n);
void decode_iq5_k(const void* src, float* dst, int64_t n);
void decode_iq6_k(const void* src, float* dst, int64_t n);

}  // namespace ruv
