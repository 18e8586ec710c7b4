// IQ2_XXS, IQ2_XS, IQ2_S: look up eight magnitudes, apply signs and scale; encoders by grid_fit.h.
#include "tensor/formats/iq2.h"

#include "tensor/formats/block.h"
#include "tensor/formats/grid_fit.h"
#include "tensor/formats/grid_signs.h"
#include "tensor/formats/iq_entries.h"

namespace ruv {
namespace {

// Magnitudes and signs under an odd multiple of d / 8.
template <class Block>
void decode_entries_of_8(const Block& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int j = 0; j < 32; ++j) {
    const IqEntry entry = entry_of(block, j);
    const float scale = d * (0.5F + static_cast<float>(entry.scale)) * 0.25F;
    for (int i = 0; i < 8; ++i) {
      const auto magnitude = static_cast<float>(kMagnitudesIq2[grid_index_of_8(entry.indices, i)]);
      dst[8 * j + i] = scale * magnitude * sign_at(entry.signs, i);
    }
  }
}

// The magnitudes in units of the least, and a d for which a scale is an odd multiple of it.
template <int kNumbersOfScale>
struct Iq2Kind {
  static constexpr int kDigits = 8;
  static constexpr int kLevels = 3;
  static constexpr int kGroup = kNumbersOfScale;
  static constexpr int kTopScale = 15;
  static constexpr int kShifts = 1;
  static constexpr float kLevel[1][3] = {{1.0F, 3.125F, 5.375F}};
  static constexpr float kFirst = 2.6F;
  static constexpr float kStep = 0.5F;
  static constexpr int kSteps = 7;
  static constexpr int kFewNear = 6;
  static constexpr int kNear = 20;
  static constexpr int kRounds = 3;
};

// Fits a super-block; `block` gets the signs.
template <int kNumbersOfScale, const auto& kEntries>
GridFit<Iq2Kind<kNumbersOfScale>> fit_iq2(const float* x, const float* importance, bool even,
                                          UnsignedBlock& block) {
  using Kind = Iq2Kind<kNumbersOfScale>;
  static const GridIndex index({kEntries, Kind::kDigits, Kind::kLevel[0]});
  float w[kSuperBlock];
  error_weights<kSuperBlock>(x, importance, w);
  take_signs(x, w, even, block);
  return GridSearch<Kind>(kEntries, index).fit(block.x, w);
}

// Scales of 16 numbers, low nibble first.
void put_scales_iq2(const GridFit<Iq2Kind<16>>& fit, uint8_t* scales) {
  for (int g = 0; g < 8; ++g) {
    scales[g] = static_cast<uint8_t>(fit.scales[2 * g] | (fit.scales[2 * g + 1] << 4));
  }
}

// Four entries of a byte, then their signs and the scale in 32 bits.
void encode_xxs(const float* x, const float* importance, BlockIQ2_XXS& block) {
  UnsignedBlock numbers;
  const auto fit = fit_iq2<32, kGridIq2Xxs>(x, importance, true, numbers);
  block.d = f16_from_f32(fit.d);
  for (int g = 0; g < 8; ++g) {
    uint32_t entries = 0;
    uint32_t extra = static_cast<uint32_t>(fit.scales[g]) << 28;
    for (int j = 0; j < 4; ++j) {
      entries |= static_cast<uint32_t>(fit.picks[4 * g + j].entry) << (8 * j);
      extra |= (numbers.minus[4 * g + j] & 0x7FU) << (7 * j);
    }
    uint16_t* q = block.q + 4 * g;
    q[0] = static_cast<uint16_t>(entries);
    q[1] = static_cast<uint16_t>(entries >> 16);
    q[2] = static_cast<uint16_t>(extra);
    q[3] = static_cast<uint16_t>(extra >> 16);
  }
}

// Nine bits of entry under seven of signs.
void encode_xs(const float* x, const float* importance, BlockIQ2_XS& block) {
  UnsignedBlock numbers;
  const auto fit = fit_iq2<16, kGridIq2Xs>(x, importance, true, numbers);
  block.d = f16_from_f32(fit.d);
  for (int j = 0; j < 32; ++j) {
    block.q[j] = static_cast<uint16_t>(fit.picks[j].entry | ((numbers.minus[j] & 0x7F) << 9));
  }
  put_scales_iq2(fit, block.scales);
}

// All eight signs are kept, so none needs to be written wrong.
void encode_s(const float* x, const float* importance, BlockIQ2_S& block) {
  UnsignedBlock numbers;
  const auto fit = fit_iq2<16, kGridIq2S>(x, importance, false, numbers);
  block.d = f16_from_f32(fit.d);
  for (int j = 0; j < 32; ++j) {
    const int entry = fit.picks[j].entry;
    block.q[j] = static_cast<uint8_t>(entry);
    block.signs[j] = numbers.minus[j];
    uint8_t& high = block.high[j / 4];
    high = static_cast<uint8_t>(high | ((entry >> 8) << (j % 4 * 2)));
  }
  put_scales_iq2(fit, block.scales);
}

}  // namespace

void decode_iq2_xxs(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ2_XXS, decode_entries_of_8<BlockIQ2_XXS>>(src, dst, n);
}
void encode_iq2_xxs(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockIQ2_XXS, encode_xxs>(src, importance, dst, n);
}
void decode_iq2_xs(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ2_XS, decode_entries_of_8<BlockIQ2_XS>>(src, dst, n);
}
void encode_iq2_xs(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockIQ2_XS, encode_xs>(src, importance, dst, n);
}
void decode_iq2_s(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ2_S, decode_entries_of_8<BlockIQ2_S>>(src, dst, n);
}
void encode_iq2_s(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockIQ2_S, encode_s>(src, importance, dst, n);
}

}  // namespace ruv
