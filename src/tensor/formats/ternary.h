// TQ1_0 and TQ2_0: 256 numbers of −1, 0, 1 under one scale, value = d · (digit − 1).
//
//   TQ1_0, 54 bytes: five base-3 digits in a byte, read from the top by multiplying
//   byte 0..31   digit p of byte j: number 32p + j              (p 0..4)
//   byte 32..47  digit p of byte j: number 160 + 16p + j − 32   (p 0..4)
//   byte 48..51  digit p of byte j: number 240 + 4p + j − 48    (p 0..3)
//   byte 52..53  d, f16
//   A byte holds ceil(v · 256 / 243), v = Σ digit[p] · 3^(4−p); digit p = (byte · 3^p mod 256) · 3
//   >> 8.
//
//   TQ2_0, 66 bytes: two bits a number
//   byte 32h+j   bits 2p..2p+1: number 128h + 32p + j           (h 0..1, p 0..3, j 0..31)
//   byte 64..65  d, f16
#pragma once

#include <cstdint>

namespace ruv {

struct BlockTQ1_0 {
  static constexpr int kSize = 256;
  uint8_t q[48];
  uint8_t last[4];
  uint16_t d;
};
static_assert(sizeof(BlockTQ1_0) == 54);

struct BlockTQ2_0 {
  static constexpr int kSize = 256;
  uint8_t q[64];
  uint16_t d;
};
static_assert(sizeof(BlockTQ2_0) == 66);

void decode_tq1_0(const void* src, float* dst, int64_t n);
void encode_tq1_0(const float* src, const float* importance, void* dst, int64_t n);
void decode_tq2_0(const void* src, float* dst, int64_t n);
void encode_tq2_0(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
