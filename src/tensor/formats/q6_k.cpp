// Q6_K: six-bit levels −32..31; a signed byte as scale per 16 numbers.
#include "tensor/formats/q6_k.h"

#include "tensor/formats/fit.h"

namespace ruv {
namespace {

constexpr ScaledSearch<WholeLevels> kQ6Search{
    .levels = {-32.0F, 31.0F}, .scale_low = -128, .scale_high = 127, .reach = 0.05F, .n_steps = 15};

// Where number i keeps its low and high bits.
struct BitPlace {
  int low_byte, low_shift, high_byte, high_shift;
};
BitPlace place_of(int i) {
  return {i / 128 * 64 + i % 64, i / 64 % 2 * 4, i / 128 * 32 + i % 32, i / 32 % 4 * 2};
}

void decode_block(const BlockQ6_K& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int i = 0; i < kSuperBlock; ++i) {
    const BitPlace at = place_of(i);
    const int low = (block.low[at.low_byte] >> at.low_shift) & 0xF;
    const int high = (block.high[at.high_byte] >> at.high_shift) & 3;
    const float scale = d * static_cast<float>(block.scales[i / 16]);
    dst[i] = scale * static_cast<float>((low | (high << 4)) - 32);
  }
}

// Stores the six bits of number i. Requires: its bits in the block are zero.
void put_level(BlockQ6_K& block, int i, int bits) {
  const BitPlace at = place_of(i);
  uint8_t& low = block.low[at.low_byte];
  low = static_cast<uint8_t>(low | ((bits & 0xF) << at.low_shift));
  uint8_t& high = block.high[at.high_byte];
  high = static_cast<uint8_t>(high | ((bits >> 4) << at.high_shift));
}

void encode_block(const float* x, const float* importance, BlockQ6_K& block) {
  float w[kSuperBlock];
  error_weights<kSuperBlock>(x, importance, w);
  const auto fit = fit_scaled<16>(kQ6Search, x, w);
  block.d = f16_from_f32(fit.d);
  for (int s = 0; s < 16; ++s) {
    block.scales[s] = static_cast<int8_t>(fit.scales[s]);
    const float inverse = inverse_or_zero(fit.d * static_cast<float>(fit.scales[s]));
    for (int i = 16 * s; i < 16 * s + 16; ++i) {
      put_level(block, i, static_cast<int>(kQ6Search.levels.nearest(x[i] * inverse)) + 32);
    }
  }
}

}  // namespace

void decode_q6_k(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockQ6_K, decode_block>(src, dst, n);
}
void encode_q6_k(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockQ6_K, encode_block>(src, importance, dst, n);
}

}  // namespace ruv
