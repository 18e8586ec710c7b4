// Integers under a scale and a zero, as checkpoints of GPTQ, AWQ, HQQ and compressed-tensors have
// them: 32 numbers, value = d · (q − z), computed in float32 in this order. These formats are in no
// file: the readers of such checkpoints make them (format/foreign).
//
//   a4      19 bytes: d as f16, z as a byte, 16 bytes of codes. Exact without rounding.
//   a4_f32  24 bytes: d and z as f32, 16 bytes of codes
//   a8_f32  40 bytes: d and z as f32, 32 bytes of codes
//
// A byte of four-bit codes has that of number j below and that of number j + 16 above.
#pragma once

#include <cstdint>

namespace ruv {

struct BlockA4 {
  static constexpr int kSize = 32;
  uint8_t d[2];  // f16, low byte first: a block has no padding
  uint8_t z;
  uint8_t q[16];
};
static_assert(sizeof(BlockA4) == 19);

struct BlockA4F32 {
  static constexpr int kSize = 32;
  float d, z;
  uint8_t q[16];
};
static_assert(sizeof(BlockA4F32) == 24);

struct BlockA8F32 {
  static constexpr int kSize = 32;
  float d, z;
  uint8_t q[32];
};
static_assert(sizeof(BlockA8F32) == 40);

void decode_a4(const void* src, float* dst, int64_t n);
// Levels from the least number, or 0, to the greatest, or 0; the zero is the level nearest to 0.
void encode_a4(const float* src, const float* importance, void* dst, int64_t n);
void decode_a4_f32(const void* src, float* dst, int64_t n);
void decode_a8_f32(const void* src, float* dst, int64_t n);

}  // namespace ruv
