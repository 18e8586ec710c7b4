// Q2_K: two-bit levels; scale and minimum of four bits per 16 numbers.
#include "tensor/formats/q2_k.h"

#include "tensor/formats/fit.h"

namespace ruv {
namespace {

constexpr OffsetSearch kQ2Search{
    .top_level = 3.0F, .top_scale = 15, .first_step = -0.9F, .step = 0.1F, .n_steps = 22};

void decode_block(const BlockQ2_K& block, float* dst) {
  const float d = f32_from_f16(block.d);
  const float dmin = f32_from_f16(block.dmin);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int packed = block.scales[i / 16];
    const float scale = d * static_cast<float>(packed & 0xF);
    const float min = dmin * static_cast<float>(packed >> 4);
    const int q = (block.q[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2)) & 3;
    dst[i] = scale * static_cast<float>(q) - min;
  }
}

void encode_block(const float* x, const float* importance, BlockQ2_K& block) {
  float w[kSuperBlock];
  error_weights<kSuperBlock>(x, importance, w);
  const auto fit = fit_offset<16>(kQ2Search, x, w);
  block.d = f16_from_f32(fit.d);
  block.dmin = f16_from_f32(fit.dmin);
  for (int s = 0; s < 16; ++s) {
    block.scales[s] = static_cast<uint8_t>(fit.scales[s] | (fit.mins[s] << 4));
    const float min = fit.dmin * static_cast<float>(fit.mins[s]);
    const float inverse = inverse_or_zero(fit.d * static_cast<float>(fit.scales[s]));
    for (int i = 16 * s; i < 16 * s + 16; ++i) {
      const int q = static_cast<int>(nearest_level((x[i] + min) * inverse, kQ2Search.top_level));
      uint8_t& byte = block.q[i / 128 * 32 + i % 32];
      byte = static_cast<uint8_t>(byte | (q << (i / 32 % 4 * 2)));
    }
  }
}

}  // namespace

void decode_q2_k(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockQ2_K, decode_block>(src, dst, n);
}
void encode_q2_k(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockQ2_K, encode_block>(src, importance, dst, n);
}

}  // namespace ruv
