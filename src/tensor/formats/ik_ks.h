// Formats of ik_llama.cpp with a scale d for the whole row, in front of its blocks: IQ2_KS, IQ3_KS,
// IQ4_KS, IQ4_KSS, IQ5_KS and IQ2_KL have 256 numbers a block, an integer scale for each 32 of them
// and levels of two sets; value = d · scale · level. Q8_KV has nothing but bytes. We only read
// them.
//
//   IQ2_KS, f16, 70 bytes         IQ3_KS, f16, 102 bytes        IQ2_KL, f16, 86 bytes
//   0..1  u16: bit s: the set     0..1  u16: bit s: fifth bit   0..1  u16: bits 2s, 2s+1 high
//         of scale s; bit 8+s:          of scale s; bit 8+s:          bits of scale s
//         its fifth bit                 its set                 2+k   low nibbles of scales k
//   2+h   low nibbles of scales   2+k   low nibbles of scales         (low) and k + 4; - 32
//         2h (low), 2h+1; - 16          k (low) and k + 4; - 16 6..69 16 (s / 2) + j: nibble of
//   6..69 indices, 2 bits         6..69   low 2 bits                  numbers 32 s + 2 j, 2 j + 1,
//                                 70..101 third bits                  low for even s
//                                                               70+j  bit s: their fifth bit
//
//   IQ4_KS, f32, 136 bytes        IQ5_KS, f32, 168 bytes        IQ4_KSS, f32, 128 bytes
//   s     bits 1-7 of scale s,    0..7     as IQ4_KS            2 (8 s + k): u16, bit 0: bit k of
//         less 127; bit 0 its set 8..135   low 4 bits           a scale byte as in IQ4_KS; the
//   8..135 indices                136..167 fifth bits           other bits v: v ^ (v >> 1) has the
//                                                               indices, as in IQ4_KS
//
//   Q8_KV, f32 and 4 bytes that are not read: value = d · byte.
//
// Indices lie as in ik_k.h; those of 4 bits are in IQ4_KS as in IQ4_K.
#pragma once

#include <cstdint>

namespace ruv {

struct BlockIQ2_KS {
  static constexpr int kSize = 256;
  uint16_t extra;
  uint8_t scales[4];
  uint8_t q[64];
};
static_assert(sizeof(BlockIQ2_KS) == 70);

struct BlockIQ3_KS {
  static constexpr int kSize = 256;
  uint16_t extra;
  uint8_t scales[4];
  uint8_t q[64];
  uint8_t high[32];
};
static_assert(sizeof(BlockIQ3_KS) == 102);

struct BlockIQ4_KS {
  static constexpr int kSize = 256;
  uint8_t scales[8];
  uint8_t q[128];
};
static_assert(sizeof(BlockIQ4_KS) == 136);

// Exactly four bits a number: the bits of the scales are the lowest bits of the words.
struct BlockIQ4_KSS {
  static constexpr int kSize = 256;
  uint16_t q[64];
};
static_assert(sizeof(BlockIQ4_KSS) == 128);

struct BlockIQ5_KS {
  static constexpr int kSize = 256;
  uint8_t scales[8];
  uint8_t q[128];
  uint8_t high[32];
};
static_assert(sizeof(BlockIQ5_KS) == 168);

// Two numbers share an index of five bits, which is 2.5 bits a number.
struct BlockIQ2_KL {
  static constexpr int kSize = 256;
  uint16_t scales_high;
  uint8_t scales_low[4];
  uint8_t q[64];
  uint8_t high[16];
};
static_assert(sizeof(BlockIQ2_KL) == 86);

// Blocks are nothing but bytes, so that rows may have any multiple of 32 numbers.
struct BlockQ8_KV {
  static constexpr int kSize = 32;
  int8_t q[32];
};
static_assert(sizeof(BlockQ8_KV) == 32);

// Each decodes one whole row, a header and n / kSize blocks, at any address. d · scale is rounded
// to float32 before the level multiplies it, as in the standard's decoder.
void decode_iq2_ks(const void* src, float* dst, int64_t n);
void decode_iq3_ks(const void* src, float* dst, int64_t n);
void decode_iq4_ks(const void* src, float* dst, int64_t n);
void decode_iq4_kss(const void* src, float* dst, int64_t n);
void decode_iq5_ks(const void* src, float* dst, int64_t n);
void decode_iq2_kl(const void* src, float* dst, int64_t n);
void decode_q8_kv(const void* src, float* dst, int64_t n);

}  // namespace ruv
