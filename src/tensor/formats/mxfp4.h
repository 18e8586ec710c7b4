// MXFP4: 32 numbers in 17 bytes, four-bit floats (E2M1) under a power of two (E8M0), after the OCP
// Microscaling specification 1.0. value = 2^(e − 128) · level, level = twice the E2M1 value.
//
//   byte 0       e
//   byte 1+j     low nibble: code of number j; high nibble: code of number j + 16
//
//   code   0 1 2 3 4 5 6  7   8  9 10 11 12 13 14  15
//   level  0 1 2 3 4 6 8 12   0 −1 −2 −3 −4 −6 −8 −12
#pragma once

#include <cstdint>

namespace ruv {

inline constexpr int8_t kLevelsMxfp4[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                            0, -1, -2, -3, -4, -6, -8, -12};

struct BlockMxfp4 {
  static constexpr int kSize = 32;
  uint8_t e;
  uint8_t q[16];
};
static_assert(sizeof(BlockMxfp4) == 17);

// The code whose level times d is nearest to x; the lowest code among equals.
int nearest_e2m1(float x, float d);

void decode_mxfp4(const void* src, float* dst, int64_t n);
void encode_mxfp4(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
