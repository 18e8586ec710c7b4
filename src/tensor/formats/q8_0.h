// Q8_0, Q8_1 and Q8_K: signed bytes under one scale, value = d · q. The sums of Q8_1 and Q8_K serve
// dot products only; decode does not use them.
//
//   Q8_0, 32 numbers, 34 bytes     Q8_1, 32 numbers, 36 bytes     Q8_K, 256 numbers, 292 bytes
//   byte 0..1   d, f16             byte 0..1   d, f16             byte 0..3    d, f32
//   byte 2+j    q of number j      byte 2..3   d · Σq, f16        byte 4+j     q of number j
//                                  byte 4+j    q of number j      byte 260+2i  int16: Σq of the
//                                                                              i-th 16 numbers
#pragma once

#include <cstdint>

namespace ruv {

struct BlockQ8_0 {
  static constexpr int kSize = 32;
  uint16_t d;
  int8_t q[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

struct BlockQ8_1 {
  static constexpr int kSize = 32;
  uint16_t d;
  uint16_t sum;
  int8_t q[32];
};
static_assert(sizeof(BlockQ8_1) == 36);

struct BlockQ8_K {
  static constexpr int kSize = 256;
  float d;
  int8_t q[256];
  int16_t sums[16];
};
static_assert(sizeof(BlockQ8_K) == 292);

void decode_q8_0(const void* src, float* dst, int64_t n);
void encode_q8_0(const float* src, const float* importance, void* dst, int64_t n);
void decode_q8_1(const void* src, float* dst, int64_t n);
void encode_q8_1(const float* src, const float* importance, void* dst, int64_t n);
void decode_q8_k(const void* src, float* dst, int64_t n);
// The number of greatest magnitude becomes −127.
void encode_q8_k(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
