// IQ3_XXS, IQ3_S: look up four magnitudes, apply signs and scale; encoders by grid_fit.h.
#include "tensor/formats/iq3.h"

#include "tensor/formats/block.h"
#include "tensor/formats/grid_fit.h"
#include "tensor/formats/grid_signs.h"
#include "tensor/formats/iq_entries.h"

namespace ruv {
namespace {

// Four numbers.
void put_entry(const IqEntry& entry, const int8_t* magnitudes, float scale, float* dst) {
  for (int i = 0; i < 4; ++i) {
    const auto magnitude = static_cast<float>(magnitudes[grid_index_of_4(entry.indices, i)]);
    dst[i] = scale * magnitude * sign_at(entry.signs, i);
  }
}

void decode_xxs(const BlockIQ3_XXS& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int j = 0; j < 64; ++j) {
    const IqEntry entry = entry_of(block, j);
    const float scale = d * (0.5F + static_cast<float>(entry.scale)) * 0.5F;
    put_entry(entry, kMagnitudesIq3Xxs, scale, dst + 4 * j);
  }
}

void decode_s(const BlockIQ3_S& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int j = 0; j < 64; ++j) {
    const IqEntry entry = entry_of(block, j);
    const float scale = d * static_cast<float>(1 + 2 * entry.scale);
    put_entry(entry, kMagnitudesIq3S, scale, dst + 4 * j);
  }
}

// The magnitudes in units of the least, and a d for which a scale is an odd multiple of it.
struct Iq3SKind {
  static constexpr int kDigits = 4;
  static constexpr int kLevels = 8;
  static constexpr int kGroup = 32;
  static constexpr int kTopScale = 15;
  static constexpr int kShifts = 1;
  static constexpr float kLevel[1][8] = {{1.0F, 3.0F, 5.0F, 7.0F, 9.0F, 11.0F, 13.0F, 15.0F}};
  static constexpr float kFirst = 9.0F;
  static constexpr float kStep = 1.0F;
  static constexpr int kSteps = 8;
  static constexpr int kFewNear = 4;
  static constexpr int kNear = 16;
  static constexpr int kRounds = 2;
};
struct Iq3XxsKind : Iq3SKind {
  static constexpr float kLevel[1][8] = {{1.0F, 3.0F, 5.0F, 7.0F, 9.0F, 11.0F, 13.0F, 15.5F}};
};

// Fits a super-block; `block` gets the signs.
template <class Kind, const auto& kEntries>
GridFit<Kind> fit_iq3(const float* x, const float* importance, bool even, UnsignedBlock& block) {
  static const GridIndex index({kEntries, Kind::kDigits, Kind::kLevel[0]});
  float w[kSuperBlock];
  error_weights<kSuperBlock>(x, importance, w);
  take_signs(x, w, even, block);
  return GridSearch<Kind>(kEntries, index).fit(block.x, w);
}

// Entries of a byte; the signs of 32 numbers and their scale share 32 bits.
void encode_xxs(const float* x, const float* importance, BlockIQ3_XXS& block) {
  UnsignedBlock numbers;
  const auto fit = fit_iq3<Iq3XxsKind, kGridIq3Xxs>(x, importance, true, numbers);
  block.d = f16_from_f32(fit.d);
  for (int j = 0; j < 64; ++j) block.q[j] = static_cast<uint8_t>(fit.picks[j].entry);
  for (int g = 0; g < 8; ++g) {
    uint32_t extra = static_cast<uint32_t>(fit.scales[g]) << 28;
    for (int j = 0; j < 4; ++j) extra |= (numbers.minus[4 * g + j] & 0x7FU) << (7 * j);
    block.signs_and_scales[2 * g] = static_cast<uint16_t>(extra);
    block.signs_and_scales[2 * g + 1] = static_cast<uint16_t>(extra >> 16);
  }
}

// Nine bits of entry, all signs, scales as odd multiples of d.
void encode_s(const float* x, const float* importance, BlockIQ3_S& block) {
  UnsignedBlock numbers;
  const auto fit = fit_iq3<Iq3SKind, kGridIq3S>(x, importance, false, numbers);
  block.d = f16_from_f32(fit.d);
  for (int j = 0; j < 64; ++j) {
    block.q[j] = static_cast<uint8_t>(fit.picks[j].entry);
    uint8_t& high = block.high[j / 8];
    high = static_cast<uint8_t>(high | ((fit.picks[j].entry >> 8) << (j % 8)));
  }
  std::copy(numbers.minus, numbers.minus + 32, block.signs);
  for (int h = 0; h < 4; ++h) {
    block.scales[h] = static_cast<uint8_t>(fit.scales[2 * h] | (fit.scales[2 * h + 1] << 4));
  }
}

}  // namespace

void decode_iq3_xxs(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ3_XXS, decode_xxs>(src, dst, n);
}
void encode_iq3_xxs(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockIQ3_XXS, encode_xxs>(src, importance, dst, n);
}
void decode_iq3_s(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ3_S, decode_s>(src, dst, n);
}
void encode_iq3_s(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockIQ3_S, encode_s>(src, importance, dst, n);
}

}  // namespace ruv
