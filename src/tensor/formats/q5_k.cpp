// Q5_K: Q4_K with a fifth bit per number.
#include "tensor/formats/q5_k.h"

#include "tensor/formats/fit.h"

namespace ruv {
namespace {

constexpr OffsetSearch kQ5Search{.top_level = 31.0F,
                                 .top_scale = 63,
                                 .first_step = -1.5F,
                                 .step = 0.1F,
                                 .n_steps = 26,
                                 .n_zero_ranges = 2};

void decode_block(const BlockQ5_K& block, float* dst) {
  const float d = f32_from_f16(block.d);
  const float dmin = f32_from_f16(block.dmin);
  for (int s = 0; s < 8; ++s) {
    const float scale = d * static_cast<float>(block.scales.scale(s));
    const float min = dmin * static_cast<float>(block.scales.min(s));
    for (int j = 0; j < 32; ++j) {
      const int low = (block.q[s / 2 * 32 + j] >> (s % 2 * 4)) & 0xF;
      const int q = low | (((block.high[j] >> s) & 1) << 4);
      dst[32 * s + j] = scale * static_cast<float>(q) - min;
    }
  }
}

void encode_block(const float* x, const float* importance, BlockQ5_K& block) {
  float w[kSuperBlock];
  error_weights<kSuperBlock>(x, importance, w);
  const auto fit = fit_offset<8>(kQ5Search, x, w);
  block.d = f16_from_f32(fit.d);
  block.dmin = f16_from_f32(fit.dmin);
  for (int s = 0; s < 8; ++s) {
    block.scales.put(s, fit.scales[s], fit.mins[s]);
    const float min = fit.dmin * static_cast<float>(fit.mins[s]);
    const float inverse = inverse_or_zero(fit.d * static_cast<float>(fit.scales[s]));
    for (int j = 0; j < 32; ++j) {
      const float nearest = nearest_level((x[32 * s + j] + min) * inverse, kQ5Search.top_level);
      const int level = static_cast<int>(nearest);
      uint8_t& low = block.q[s / 2 * 32 + j];
      low = static_cast<uint8_t>(low | ((level & 0xF) << (s % 2 * 4)));
      block.high[j] = static_cast<uint8_t>(block.high[j] | ((level >> 4) << s));
    }
  }
}

}  // namespace

void decode_q5_k(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockQ5_K, decode_block>(src, dst, n);
}
void encode_q5_k(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockQ5_K, encode_block>(src, importance, dst, n);
}

}  // namespace ruv
