// IQ4_NL and IQ4_XS: four-bit indices into 16 fixed levels, denser near zero as weights are.
//
//   IQ4_NL, 32 numbers, 18 bytes             IQ4_XS, 256 numbers, 136 bytes
//   value = d · level                        value = d · (scale − 32) · level
//   0..1    d, f16                           0..1    d, f16
//   2+j     low nibble: index of number j    2..3    u16: bits 2s..2s+1 high bits of scale s
//           high nibble: of number j + 16    4+h     low 4 bits of scales 2h (low nibble), 2h + 1
//                                            8+16s+j the s-th 32 numbers, as in IQ4_NL
#pragma once

#include <cstdint>

namespace ruv {

inline constexpr int8_t kLevelsIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

struct BlockIQ4_NL {
  static constexpr int kSize = 32;
  uint16_t d;
  uint8_t q[16];
};
static_assert(sizeof(BlockIQ4_NL) == 18);

struct BlockIQ4_XS {
  static constexpr int kSize = 256;
  uint16_t d;
  uint16_t scales_high;
  uint8_t scales_low[4];
  uint8_t q[128];
};
static_assert(sizeof(BlockIQ4_XS) == 136);

void decode_iq4_nl(const void* src, float* dst, int64_t n);
void encode_iq4_nl(const float* src, const float* importance, void* dst, int64_t n);
void decode_iq4_xs(const void* src, float* dst, int64_t n);
void encode_iq4_xs(const float* src, const float* importance, void* dst, int64_t n);

}  // namespace ruv
