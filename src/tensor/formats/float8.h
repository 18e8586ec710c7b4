// Eight-bit floats under an f32 scale: 36 bytes for 32 numbers, d and then 32 codes. value = d ·
// code, rounded to float32. These formats are in no file: the readers of checkpoints make them
// (format/foreign).
//
//   e4m3   sign, four bits of exponent (bias 7), three of fraction; no infinity, 0x7F is NaN;
//          greatest 448
//   e5m2   sign, five bits of exponent, two of fraction: the upper byte of an f16
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "tensor/half.h"

namespace ruv {

struct BlockFloat8 {
  static constexpr int kSize = 32;
  float d;
  uint8_t q[32];
};
static_assert(sizeof(BlockFloat8) == 36);

// Both exact.
inline float f32_from_e4m3(uint8_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x80U) << 24;
  const uint32_t rest = bits & 0x7FU;
  if (rest == 0x7F) return std::numeric_limits<float>::quiet_NaN();
  // The exponent's bias is 120 below that of a float32; a subnormal is a count of 2^-9.
  const float magnitude = rest < 8 ? static_cast<float>(rest) * 0x1p-9F
                                   : std::bit_cast<float>((rest << 20) + (120U << 23));
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}
inline float f32_from_e5m2(uint8_t bits) { return f32_from_f16(static_cast<uint16_t>(bits << 8)); }

void decode_e4m3(const void* src, float* dst, int64_t n);
void decode_e5m2(const void* src, float* dst, int64_t n);

}  // namespace ruv
