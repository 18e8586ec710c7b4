// IQ1_S, IQ1_M: look up eight digits, move them by an eighth, scale; encoders by grid_fit.h.
#include "tensor/formats/iq1.h"

#include "tensor/formats/block.h"
#include "tensor/formats/grid_fit.h"
#include "tensor/formats/iq_entries.h"

namespace ruv {
namespace {

constexpr float kShift = 0.125F;

// Digits, moved by an eighth, under an odd multiple of d.
template <class Block>
void decode_entries(const Block& block, float d, float* dst) {
  for (int j = 0; j < 32; ++j) {
    const IqEntry entry = entry_of(block, j);
    const float scale = d * static_cast<float>(2 * entry.scale + 1);
    const float shift = entry.signs != 0 ? -kShift : kShift;
    for (int i = 0; i < 8; ++i) {
      const auto digit = static_cast<float>(grid_index_of_8(entry.indices, i) - 1);
      dst[8 * j + i] = scale * (digit + shift);
    }
  }
}

void decode_s(const BlockIQ1_S& block, float* dst) {
  decode_entries(block, f32_from_f16(block.d), dst);
}

void decode_m(const BlockIQ1_M& block, float* dst) {
  decode_entries(block, f32_from_f16(scale_of(block)), dst);
}

// Shift 1 is minus. IQ1_S has a shift for each scale, IQ1_M for each entry.
struct Iq1SKind {
  static constexpr int kDigits = 8;
  static constexpr int kLevels = 3;
  static constexpr int kGroup = 32;
  static constexpr int kTopScale = 7;
  static constexpr int kShifts = 2;
  static constexpr bool kShiftPerEntry = false;
  static constexpr float kLevel[2][3] = {{-0.875F, 0.125F, 1.125F}, {-1.125F, -0.125F, 0.875F}};
  static constexpr float kFirst = 1.0F;
  static constexpr float kStep = 0.45F;
  static constexpr int kSteps = 4;
  static constexpr int kFewNear = 3;
  static constexpr int kNear = 12;
  static constexpr int kRounds = 2;
};
struct Iq1MKind : Iq1SKind {
  static constexpr int kGroup = 16;
  static constexpr bool kShiftPerEntry = true;
};

// The distances between two levels are those of the other set too.
template <class Kind>
GridFit<Kind> fit_iq1(const float* x, const float* importance) {
  static const GridIndex index({kGridIq1S, Kind::kDigits, Kind::kLevel[0]});
  float w[kSuperBlock];
  error_weights<kSuperBlock>(x, importance, w);
  return GridSearch<Kind>(kGridIq1S, index).fit(x, w);
}

// The entry's low byte is by itself; its high bits share a word with scale and shift.
void encode_s(const float* x, const float* importance, BlockIQ1_S& block) {
  const auto fit = fit_iq1<Iq1SKind>(x, importance);
  block.d = f16_from_f32(fit.d);
  for (int g = 0; g < 8; ++g) {
    int high = (fit.scales[g] << 12) | (fit.picks[4 * g].shift << 15);
    for (int j = 0; j < 4; ++j) {
      const int entry = fit.picks[4 * g + j].entry;
      block.q[4 * g + j] = static_cast<uint8_t>(entry);
      high |= (entry >> 8) << (3 * j);
    }
    block.high[g] = static_cast<uint16_t>(high);
  }
}

// As encode_s, with a nibble for high bits and shift; d is spread over the words of the scales.
void encode_m(const float* x, const float* importance, BlockIQ1_M& block) {
  const auto fit = fit_iq1<Iq1MKind>(x, importance);
  for (int j = 0; j < 32; ++j) {
    const GridPick pick = fit.picks[j];
    block.q[j] = static_cast<uint8_t>(pick.entry);
    const int nibble = (pick.entry >> 8) | (pick.shift << 3);
    block.high[j / 2] = static_cast<uint8_t>(block.high[j / 2] | (nibble << (j % 2 * 4)));
  }
  const int d = f16_from_f32(fit.d);
  for (int k = 0; k < 4; ++k) {
    int word = ((d >> (4 * k)) & 0xF) << 12;
    for (int i = 0; i < 4; ++i) word |= fit.scales[4 * k + i] << (3 * i);
    block.scales[k] = static_cast<uint16_t>(word);
  }
}

}  // namespace

void decode_iq1_s(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ1_S, decode_s>(src, dst, n);
}
void encode_iq1_s(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockIQ1_S, encode_s>(src, importance, dst, n);
}
void decode_iq1_m(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ1_M, decode_m>(src, dst, n);
}
void encode_iq1_m(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockIQ1_M, encode_m>(src, importance, dst, n);
}

}  // namespace ruv
