// Q5_0: one scale per block, chosen so that the number of greatest magnitude becomes level 0 (−16).
#include "tensor/formats/q5_0.h"

#include "tensor/formats/fit_block.h"
#include "tensor/formats/five_bits.h"

namespace ruv {
namespace {

void decode_block(const BlockQ5_0& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int j = 0; j < 32; ++j) dst[j] = d * static_cast<float>(five_bits_at(block, j) - 16);
}

void encode_block(const float* x, const float* importance, BlockQ5_0& block) {
  float d = extreme(x, 32) / -16.0F;
  if (importance != nullptr) {
    d = fit_block_scale<32>({-16.0F, 15.0F}, x, importance, 0.15F, 17);
  }
  const float inverse = inverse_or_zero(d);
  block.d = f16_from_f32(d);
  for (int j = 0; j < 32; ++j) {
    put_five_bits(block, j, truncated_level(x[j] * inverse + 16.5F, 31));
  }
}

}  // namespace

void decode_q5_0(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockQ5_0, decode_block>(src, dst, n);
}
void encode_q5_0(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockQ5_0, encode_block>(src, importance, dst, n);
}

}  // namespace ruv
