// NVFP4. Each group of 16 numbers gets the scale that maps its greatest magnitude to the top level,
// 6.
#include "tensor/formats/nvfp4.h"

#include <algorithm>
#include <bit>

#include "tensor/formats/block.h"
#include "tensor/formats/mxfp4.h"

namespace ruv {
namespace {

constexpr uint8_t kNaN = 0x7F;
constexpr int kTop = 0x7E;  // 448

// Half the scale, since the stored levels are doubled.
float half_scale(uint8_t scale) {
  if (scale == kNaN) return 0.0F;
  const auto exponent = static_cast<uint32_t>(scale >> 3 & 0xF);
  const auto fraction = static_cast<uint32_t>(scale & 7);
  if (exponent == 0) return static_cast<float>(fraction) * 0x1p-10F;
  return std::bit_cast<float>((exponent - 8 + 127) << 23 | fraction << 20);
}

// The nearest scale, ties upward. Requires: x >= 0 and not NaN.
uint8_t nearest_scale(float x) {
  if (x < 0x1p-6F) {
    return static_cast<uint8_t>(truncated_level(x * 512.0F + 0.5F, 7));
  }
  // Adding half of the last bit that is kept carries into the exponent by itself.
  const uint32_t kept = (std::bit_cast<uint32_t>(x) + (1U << 19)) >> 20;
  const int scale = static_cast<int>(kept) - ((127 - 7) << 3);
  return static_cast<uint8_t>(std::min(scale, kTop));
}

void decode_block(const BlockNvfp4& block, float* dst) {
  for (int s = 0; s < 4; ++s) {
    const float d = half_scale(block.scales[s]);
    for (int j = 0; j < 8; ++j) {
      const uint8_t codes = block.q[8 * s + j];
      dst[16 * s + j] = d * static_cast<float>(kLevelsMxfp4[codes & 0xF]);
      dst[16 * s + j + 8] = d * static_cast<float>(kLevelsMxfp4[codes >> 4]);
    }
  }
}

void encode_block(const float* x, const float* /*importance*/, BlockNvfp4& block) {
  for (int s = 0; s < 4; ++s, x += 16) {
    block.scales[s] = nearest_scale(std::fabs(extreme(x, 16)) / 6.0F);
    const float d = half_scale(block.scales[s]);
    for (int j = 0; j < 8; ++j) {
      block.q[8 * s + j] =
          static_cast<uint8_t>(nearest_e2m1(x[j], d) | nearest_e2m1(x[j + 8], d) << 4);
    }
  }
}

}  // namespace

void decode_nvfp4(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockNvfp4, decode_block>(src, dst, n);
}
void encode_nvfp4(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockNvfp4, encode_block>(src, importance, dst, n);
}

}  // namespace ruv
