// IQ4_NL and IQ4_XS: the scale search of fit.h over uneven levels.
#include "tensor/formats/iq4.h"

#include "tensor/formats/fit.h"

namespace ruv {
namespace {

// The 16 levels as a rounding rule: x belongs to the level whose half-way points enclose it.
struct UnevenLevels {
  static constexpr float low = -127.0F;
  static constexpr float high = 113.0F;
  static int index_of(float x) {
    int index = 0;
    for (int i = 1; i < 16; ++i) {
      const int twice_border = kLevelsIq4[i - 1] + kLevelsIq4[i];
      index += 2.0F * x > static_cast<float>(twice_border) ? 1 : 0;
    }
    return index;
  }
  float nearest(float x) const { return static_cast<float>(kLevelsIq4[index_of(x)]); }
  // The same, by the steps between levels: all sums are whole.
  Eight nearest(Eight x) const {
    const Eight twice = 2.0F * x;
    Eight level = all_eight(low);
    for (int i = 1; i < 16; ++i) {
      const int border = kLevelsIq4[i - 1] + kLevelsIq4[i];
      const int step = kLevelsIq4[i] - kLevelsIq4[i - 1];
      level = level + step_above(twice, static_cast<float>(border), static_cast<float>(step));
    }
    return level;
  }
};

// Scales are signed: the levels reach further down (-127) than up (113), so a sub-block whose
// largest number is positive may be better negated.
constexpr ScaledSearch<UnevenLevels> kIq4Search{
    .levels = {}, .scale_low = -32, .scale_high = 31, .reach = 0.15F, .n_steps = 13};

// IQ4_NL.
void decode_small(const BlockIQ4_NL& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int j = 0; j < 16; ++j) {
    dst[j] = d * static_cast<float>(kLevelsIq4[block.q[j] & 0xF]);
    dst[j + 16] = d * static_cast<float>(kLevelsIq4[block.q[j] >> 4]);
  }
}

// 32 numbers into 16 bytes.
void put_indices(const float* x, float scale, uint8_t* q) {
  const float inverse = inverse_or_zero(scale);
  for (int j = 0; j < 16; ++j) {
    const int low = UnevenLevels::index_of(x[j] * inverse);
    const int high = UnevenLevels::index_of(x[j + 16] * inverse);
    q[j] = static_cast<uint8_t>(low | (high << 4));
  }
}

// With one scale per block there is nothing to round together: the real scale is the answer.
void encode_small(const float* x, const float* importance, BlockIQ4_NL& block) {
  float w[32];
  error_weights<32>(x, importance, w);
  const float real = best_scale<32>(kIq4Search.levels, x, w, kIq4Search.reach, kIq4Search.n_steps);
  const float d = through_f16(real);
  block.d = f16_from_f32(d);
  put_indices(x, d, block.q);
}

// IQ4_XS.
void decode_super(const BlockIQ4_XS& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int s = 0; s < 8; ++s) {
    const int low = (block.scales_low[s / 2] >> (s % 2 * 4)) & 0xF;
    const int high = (block.scales_high >> (2 * s)) & 3;
    const float scale = d * static_cast<float>((low | (high << 4)) - 32);
    for (int j = 0; j < 32; ++j) {
      const int index = (block.q[16 * s + j % 16] >> (j / 16 * 4)) & 0xF;
      dst[32 * s + j] = scale * static_cast<float>(kLevelsIq4[index]);
    }
  }
}

void encode_super(const float* x, const float* importance, BlockIQ4_XS& block) {
  float w[kSuperBlock];
  error_weights<kSuperBlock>(x, importance, w);
  const auto fit = fit_scaled<8>(kIq4Search, x, w);
  block.d = f16_from_f32(fit.d);
  for (int s = 0; s < 8; ++s) {
    const int bits = fit.scales[s] + 32;
    uint8_t& low = block.scales_low[s / 2];
    low = static_cast<uint8_t>(low | ((bits & 0xF) << (s % 2 * 4)));
    block.scales_high = static_cast<uint16_t>(block.scales_high | ((bits >> 4) << (2 * s)));
    put_indices(x + 32 * s, fit.d * static_cast<float>(fit.scales[s]), block.q + 16 * s);
  }
}

}  // namespace

void decode_iq4_nl(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ4_NL, decode_small>(src, dst, n);
}
void encode_iq4_nl(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockIQ4_NL, encode_small>(src, importance, dst, n);
}
void decode_iq4_xs(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ4_XS, decode_super>(src, dst, n);
}
void encode_iq4_xs(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockIQ4_XS, encode_super>(src, importance, dst, n);
}

}  // namespace ruv
