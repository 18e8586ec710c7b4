// Q4_0: one scale per block, chosen so that the number of greatest magnitude becomes level 0 (−8).
// The range −8..7 then covers it exactly, whatever its sign.
#include "tensor/formats/q4_0.h"

#include "tensor/formats/fit_block.h"

namespace ruv {
namespace {

void decode_block(const BlockQ4_0& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int j = 0; j < 16; ++j) {
    dst[j] = d * static_cast<float>((block.q[j] & 0xF) - 8);
    dst[j + 16] = d * static_cast<float>((block.q[j] >> 4) - 8);
  }
}

void encode_block(const float* x, const float* importance, BlockQ4_0& block) {
  float d = extreme(x, 32) / -8.0F;
  if (importance != nullptr) {
    d = fit_block_scale<32>({-8.0F, 7.0F}, x, importance, 0.3F, 17);
  }
  const float inverse = inverse_or_zero(d);
  block.d = f16_from_f32(d);
  for (int j = 0; j < 16; ++j) {
    const int low = truncated_level(x[j] * inverse + 8.5F, 15);
    const int high = truncated_level(x[j + 16] * inverse + 8.5F, 15);
    block.q[j] = static_cast<uint8_t>(low | (high << 4));
  }
}

}  // namespace

void decode_q4_0(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockQ4_0, decode_block>(src, dst, n);
}
void encode_q4_0(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockQ4_0, encode_block>(src, importance, dst, n);
}

}  // namespace ruv
