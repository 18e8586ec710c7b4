// IQ1_S, IQ1_M: look up eight digits, move them by an eighth, scale.
#include "tensor/formats/iq1.h"

#include "tensor/formats/block.h"
#include "tensor/formats/iq_grids.h"

namespace ruv {
namespace {

constexpr float kShift = 0.125F;

// Writes the eight numbers of a codebook entry, all shifted the same way.
void put_entry(int entry, bool minus, float scale, float* dst) {
  const float shift = minus ? -kShift : kShift;
  for (int i = 0; i < 8; ++i) {
    const auto digit = static_cast<float>(grid_index_of_8(kGridIq1S[entry], i) - 1);
    dst[i] = scale * (digit + shift);
  }
}

// The scale and the shift's sign are per 32 numbers, in the top bits of `high`.
void decode_s(const BlockIQ1_S& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int j = 0; j < 32; ++j) {
    const int high = block.high[j / 4];
    const float scale = d * static_cast<float>(2 * ((high >> 12) & 7) + 1);
    const int entry = block.q[j] | (((high >> (j % 4 * 3)) & 7) << 8);
    put_entry(entry, (high & 0x8000) != 0, scale, dst + 8 * j);
  }
}

// The block's f16 scale is split over the top four bits of the four words of `scales`.
void decode_m(const BlockIQ1_M& block, float* dst) {
  int bits = 0;
  for (int k = 0; k < 4; ++k) bits |= (block.scales[k] >> 12) << (4 * k);
  const float d = f32_from_f16(static_cast<uint16_t>(bits));
  for (int j = 0; j < 32; ++j) {
    const int scale_bits = (block.scales[j / 8] >> (j / 2 % 4 * 3)) & 7;
    const float scale = d * static_cast<float>(2 * scale_bits + 1);
    const int nibble = block.high[j / 2] >> (j % 2 * 4);
    put_entry(block.q[j] | ((nibble & 7) << 8), (nibble & 8) != 0, scale, dst + 8 * j);
  }
}

}  // namespace

void decode_iq1_s(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ1_S, decode_s>(src, dst, n);
}
void decode_iq1_m(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ1_M, decode_m>(src, dst, n);
}

}  // namespace ruv
