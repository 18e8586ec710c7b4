// MXFP4. The shared exponent scales the greatest magnitude of a block into [4, 8), where the
// largest E2M1 values, 4 and 6, are.
#include "tensor/formats/mxfp4.h"

#include <bit>

#include "tensor/formats/block.h"

namespace ruv {
namespace {

// 2^(e − 128), subnormal for e below 2.
float half_power(uint8_t e) {
  const uint32_t bits = e < 2 ? 0x00200000U << e : static_cast<uint32_t>(e - 1) << 23;
  return std::bit_cast<float>(bits);
}

void decode_block(const BlockMxfp4& block, float* dst) {
  const float d = half_power(block.e);
  for (int j = 0; j < 16; ++j) {
    dst[j] = d * static_cast<float>(kLevelsMxfp4[block.q[j] & 0xF]);
    dst[j + 16] = d * static_cast<float>(kLevelsMxfp4[block.q[j] >> 4]);
  }
}

// A block of zeros keeps e = 0.
void encode_block(const float* x, const float* /*importance*/, BlockMxfp4& block) {
  const float top = std::fabs(extreme(x, 32));
  if (top > 0.0F) {
    // The float32 logarithm, as the format's first writer has it: it may round up to a whole
    // number.
    const int e = static_cast<int>(std::floor(std::log2(top))) - 2 + 127;
    block.e = static_cast<uint8_t>(e < 0 ? 0 : e);
  }
  const float d = half_power(block.e);
  for (int j = 0; j < 16; ++j) {
    block.q[j] = static_cast<uint8_t>(nearest_e2m1(x[j], d) | (nearest_e2m1(x[j + 16], d) << 4));
  }
}

}  // namespace

int nearest_e2m1(float x, float d) {
  int best = 0;
  float best_error = std::fabs(0.0F - x);
  for (int code = 1; code < 16; ++code) {
    const float error = std::fabs(d * static_cast<float>(kLevelsMxfp4[code]) - x);
    if (error < best_error) {
      best = code;
      best_error = error;
    }
  }
  return best;
}

void decode_mxfp4(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockMxfp4, decode_block>(src, dst, n);
}
void encode_mxfp4(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockMxfp4, encode_block>(src, importance, dst, n);
}

}  // namespace ruv
