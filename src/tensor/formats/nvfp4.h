// NVFP4: 64 numbers in 36 bytes, four-bit floats (E2M1), each 16 of them under a scale that is an
// eight-bit float without a sign (UE4M3: four bits of exponent, bias 7, three of fraction).
// value = scale / 2 · level, levels as in MXFP4 (twice the E2M1 value).
//
//   byte s        scale of numbers 16s .. 16s + 15; the top bit is ignored, 127 means 0  (s 0..3)
//   byte 4+8s+j   low nibble: code of number 16s + j; high nibble: of number 16s + j + 8   (j 0..7)
#pragma once

#include <cstdint>

namespace ruv {

struct BlockNvfp4 {
  static constexpr int kSize = 64;
  uint8_t scales[4];
  uint8_t q[32];
};
static_assert(sizeof(BlockNvfp4) == 36);

void decode_nvfp4(const void* src, float* dst, int64_t n);
// Saturates at 2688 = 448 / 2 · 12; files hold a tensor's larger range in a scale of its own.
void encode_nvfp4(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
