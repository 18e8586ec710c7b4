// Q3_K: three-bit levels −4..3; a signed six-bit scale per 16 numbers.
#include "tensor/formats/q3_k.h"

#include "tensor/formats/fit.h"

namespace ruv {
namespace {

constexpr ScaledSearch<WholeLevels> kQ3Search{
    .levels = {-4.0F, 3.0F}, .scale_low = -32, .scale_high = 31, .reach = 0.3F, .n_steps = 17};

// The signed scale of sub-block s, whose six bits are split between a nibble and a two-bit field.
int scale_at(const BlockQ3_K& block, int s) {
  const int low = (block.scales[s % 8] >> (s / 8 * 4)) & 0xF;
  const int high = (block.scales[8 + s % 4] >> (s / 4 * 2)) & 3;
  return (low | (high << 4)) - 32;
}

void put_scale(BlockQ3_K& block, int s, int scale) {
  const int bits = scale + 32;
  uint8_t& low = block.scales[s % 8];
  low = static_cast<uint8_t>(low | ((bits & 0xF) << (s / 8 * 4)));
  uint8_t& high = block.scales[8 + s % 4];
  high = static_cast<uint8_t>(high | ((bits >> 4) << (s / 4 * 2)));
}

void decode_block(const BlockQ3_K& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int i = 0; i < kSuperBlock; ++i) {
    const float scale = d * static_cast<float>(scale_at(block, i / 16));
    const int low = (block.q[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2)) & 3;
    const int high = (block.high[i % 32] >> (i / 32)) & 1;
    dst[i] = scale * static_cast<float>((low | (high << 2)) - 4);
  }
}

// Stores the three bits of number i. Requires: its bits in the block are zero.
void put_level(BlockQ3_K& block, int i, int bits) {
  uint8_t& low = block.q[i / 128 * 32 + i % 32];
  low = static_cast<uint8_t>(low | ((bits & 3) << (i / 32 % 4 * 2)));
  uint8_t& high = block.high[i % 32];
  high = static_cast<uint8_t>(high | ((bits >> 2) << (i / 32)));
}

void encode_block(const float* x, const float* importance, BlockQ3_K& block) {
  float w[kSuperBlock];
  error_weights<kSuperBlock>(x, importance, w);
  const auto fit = fit_scaled<16>(kQ3Search, x, w);
  block.d = f16_from_f32(fit.d);
  for (int s = 0; s < 16; ++s) {
    put_scale(block, s, fit.scales[s]);
    const float inverse = inverse_or_zero(fit.d * static_cast<float>(fit.scales[s]));
    for (int i = 16 * s; i < 16 * s + 16; ++i) {
      put_level(block, i, static_cast<int>(kQ3Search.levels.nearest(x[i] * inverse)) + 4);
    }
  }
}

}  // namespace

void decode_q3_k(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockQ3_K, decode_block>(src, dst, n);
}
void encode_q3_k(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockQ3_K, encode_block>(src, importance, dst, n);
}

}  // namespace ruv
