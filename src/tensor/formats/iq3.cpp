// IQ3_XXS, IQ3_S: look up four magnitudes, apply signs and scale.
#include "tensor/formats/iq3.h"

#include "tensor/formats/block.h"
#include "tensor/formats/iq_grids.h"

namespace ruv {
namespace {

// Writes four numbers; bit i of signs belongs to number i.
void put_entry(uint16_t entry, const int8_t* magnitudes, uint8_t signs, float scale, float* dst) {
  for (int i = 0; i < 4; ++i) {
    const auto magnitude = static_cast<float>(magnitudes[grid_index_of_4(entry, i)]);
    dst[i] = scale * magnitude * sign_at(signs, i);
  }
}

// IQ3_XXS keeps seven sign bits per eight numbers and derives the eighth; see even_signs.
void decode_xxs(const BlockIQ3_XXS& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int g = 0; g < 8; ++g) {
    const uint16_t* halves = block.signs_and_scales + 2 * g;
    const uint32_t extra = halves[0] | (static_cast<uint32_t>(halves[1]) << 16);
    const float scale = d * (0.5F + static_cast<float>(extra >> 28)) * 0.5F;
    for (int j = 0; j < 8; ++j) {
      const uint8_t signs = even_signs((extra >> (j / 2 * 7)) & 0x7F);
      put_entry(kGridIq3Xxs[block.q[8 * g + j]], kMagnitudesIq3Xxs,
                static_cast<uint8_t>(signs >> (j % 2 * 4)), scale, dst + 32 * g + 4 * j);
    }
  }
}

void decode_s(const BlockIQ3_S& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int j = 0; j < 64; ++j) {
    const int nibble = (block.scales[j / 16] >> (j / 8 % 2 * 4)) & 0xF;
    const float scale = d * static_cast<float>(1 + 2 * nibble);
    const int entry = block.q[j] | (((block.high[j / 8] >> (j % 8)) & 1) << 8);
    const auto signs = static_cast<uint8_t>(block.signs[j / 2] >> (j % 2 * 4));
    put_entry(kGridIq3S[entry], kMagnitudesIq3S, signs, scale, dst + 4 * j);
  }
}

}  // namespace

void decode_iq3_xxs(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ3_XXS, decode_xxs>(src, dst, n);
}
void decode_iq3_s(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ3_S, decode_s>(src, dst, n);
}

}  // namespace ruv
