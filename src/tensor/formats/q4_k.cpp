// Q4_K: four-bit levels; a scale and a minimum of six bits per 32 numbers.
#include "tensor/formats/q4_k.h"

#include "tensor/formats/fit.h"

namespace ruv {

// The first four pairs fill the low six bits of bytes 0 to 7; the others are split between the
// nibbles of bytes 8 to 11 and the free top bits of the first eight.
void SixBitPairs::put(int i, int scale, int min) {
  const auto add = [this](int byte, int bits) {
    bytes[byte] = static_cast<uint8_t>(bytes[byte] | bits);
  };
  if (i < 4) {
    add(i, scale);
    add(i + 4, min);
  } else {
    add(i + 4, (scale & 0xF) | ((min & 0xF) << 4));
    add(i - 4, (scale >> 4) << 6);
    add(i, (min >> 4) << 6);
  }
}

namespace {

constexpr OffsetSearch kQ4Search{.top_level = 15.0F,
                                 .top_scale = 63,
                                 .first_step = -1.5F,
                                 .step = 0.1F,
                                 .n_steps = 26,
                                 .n_zero_ranges = 2};

void decode_block(const BlockQ4_K& block, float* dst) {
  const float d = f32_from_f16(block.d);
  const float dmin = f32_from_f16(block.dmin);
  for (int s = 0; s < 8; ++s) {
    const float scale = d * static_cast<float>(block.scales.scale(s));
    const float min = dmin * static_cast<float>(block.scales.min(s));
    for (int j = 0; j < 32; ++j) {
      const int q = (block.q[s / 2 * 32 + j] >> (s % 2 * 4)) & 0xF;
      dst[32 * s + j] = scale * static_cast<float>(q) - min;
    }
  }
}

void encode_block(const float* x, const float* importance, BlockQ4_K& block) {
  float w[kSuperBlock];
  error_weights<kSuperBlock>(x, importance, w);
  const auto fit = fit_offset<8>(kQ4Search, x, w);
  block.d = f16_from_f32(fit.d);
  block.dmin = f16_from_f32(fit.dmin);
  for (int s = 0; s < 8; ++s) {
    block.scales.put(s, fit.scales[s], fit.mins[s]);
    const float min = fit.dmin * static_cast<float>(fit.mins[s]);
    const float inverse = inverse_or_zero(fit.d * static_cast<float>(fit.scales[s]));
    for (int j = 0; j < 32; ++j) {
      const float level = nearest_level((x[32 * s + j] + min) * inverse, kQ4Search.top_level);
      uint8_t& byte = block.q[s / 2 * 32 + j];
      byte = static_cast<uint8_t>(byte | (static_cast<int>(level) << (s % 2 * 4)));
    }
  }
}

}  // namespace

void decode_q4_k(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockQ4_K, decode_block>(src, dst, n);
}
void encode_q4_k(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockQ4_K, encode_block>(src, importance, dst, n);
}

}  // namespace ruv
