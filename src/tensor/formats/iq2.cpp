// IQ2_XXS, IQ2_XS, IQ2_S: look up eight magnitudes, apply signs and scale.
#include "tensor/formats/iq2.h"

#include "tensor/formats/block.h"
#include "tensor/formats/iq_grids.h"

namespace ruv {
namespace {

// Scales are odd multiples of d / 8.
float scale_of(float d, int nibble) { return d * (0.5F + static_cast<float>(nibble)) * 0.25F; }

// Writes the eight numbers of a codebook entry; bit i of `signs` belongs to number i.
void put_entry(uint16_t entry, uint8_t signs, float scale, float* dst) {
  for (int i = 0; i < 8; ++i) {
    const auto magnitude = static_cast<float>(kMagnitudesIq2[grid_index_of_8(entry, i)]);
    dst[i] = scale * magnitude * sign_at(signs, i);
  }
}

void decode_xxs(const BlockIQ2_XXS& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int g = 0; g < 8; ++g) {
    const uint16_t* q = block.q + 4 * g;
    const uint32_t extra = q[2] | (static_cast<uint32_t>(q[3]) << 16);
    const float scale = scale_of(d, static_cast<int>(extra >> 28));
    for (int j = 0; j < 4; ++j) {
      const int entry = (q[j / 2] >> (8 * (j % 2))) & 0xFF;
      const uint8_t signs = even_signs((extra >> (7 * j)) & 0x7F);
      put_entry(kGridIq2Xxs[entry], signs, scale, dst + 32 * g + 8 * j);
    }
  }
}

void decode_xs(const BlockIQ2_XS& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int j = 0; j < 32; ++j) {
    const float scale = scale_of(d, (block.scales[j / 4] >> (j / 2 % 2 * 4)) & 0xF);
    const uint8_t signs = even_signs(block.q[j] >> 9);
    put_entry(kGridIq2Xs[block.q[j] & 511], signs, scale, dst + 8 * j);
  }
}

void decode_s(const BlockIQ2_S& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int j = 0; j < 32; ++j) {
    const float scale = scale_of(d, (block.scales[j / 4] >> (j / 2 % 2 * 4)) & 0xF);
    const int entry = block.q[j] | (((block.high[j / 4] >> (j % 4 * 2)) & 3) << 8);
    put_entry(kGridIq2S[entry], block.signs[j], scale, dst + 8 * j);
  }
}

}  // namespace

void decode_iq2_xxs(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ2_XXS, decode_xxs>(src, dst, n);
}
void decode_iq2_xs(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ2_XS, decode_xs>(src, dst, n);
}
void decode_iq2_s(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ2_S, decode_s>(src, dst, n);
}

}  // namespace ruv
