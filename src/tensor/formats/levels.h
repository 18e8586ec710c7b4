// Four-bit codes of uneven levels under an f32 scale: value = d · level[code], rounded to float32.
// These formats are in no file: the readers of checkpoints make them (format/foreign).
//
//   nf4   20 bytes for 32 numbers: d, then 16 bytes of codes. Quantiles of the normal distribution
//         (QLoRA), scaled to [−1, 1]
//   fp4   the same with the four-bit floats of bitsandbytes, scaled to [−1, 1]
//   e2m1  12 bytes for 16 numbers: d, then 8 bytes of codes. The four-bit floats of OCP: 0, 0.5, 1,
//         1.5, 2, 3, 4, 6 and the same below 0
//
// A byte of codes has that of number j below and that of number j + 16 above (e2m1: j + 8).
#pragma once

#include <cstdint>

namespace ruv {

inline constexpr float kLevelsNf4[16] = {
    -1.0F,
    -0.6961928009986877F,
    -0.5250730514526367F,
    -0.39491748809814453F,
    -0.28444138169288635F,
    -0.18477343022823334F,
    -0.09105003625154495F,
    0.0F,
    0.07958029955625534F,
    0.16093020141124725F,
    0.24611230194568634F,
    0.33791524171829224F,
    0.44070982933044434F,
    0.5626170039176941F,
    0.7229568362236023F,
    1.0F,
};
inline constexpr float kLevelsFp4[16] = {
    0.0F,  0.0625F / 12,  8.0F / 12,  1.0F,  4.0F / 12,  0.5F,  2.0F / 12,  0.25F,
    -0.0F, -0.0625F / 12, -8.0F / 12, -1.0F, -4.0F / 12, -0.5F, -2.0F / 12, -0.25F,
};
inline constexpr float kLevelsE2m1[16] = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,  4.0F,  6.0F,
                                          -0.0F, -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F};

struct BlockLevels {
  static constexpr int kSize = 32;
  float d;
  uint8_t q[16];
};
static_assert(sizeof(BlockLevels) == 20);

struct BlockE2m1 {
  static constexpr int kSize = 16;
  float d;
  uint8_t q[8];
};
static_assert(sizeof(BlockE2m1) == 12);

void decode_nf4(const void* src, float* dst, int64_t n);
void decode_fp4(const void* src, float* dst, int64_t n);
void decode_e2m1(const void* src, float* dst, int64_t n);

}  // namespace ruv
