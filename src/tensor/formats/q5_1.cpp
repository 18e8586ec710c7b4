// Q5_1: 32 levels spread from the least to the greatest number.
#include "tensor/formats/q5_1.h"

#include "tensor/formats/fit_block.h"
#include "tensor/formats/five_bits.h"

namespace ruv {
namespace {

void decode_block(const BlockQ5_1& block, float* dst) {
  const float d = f32_from_f16(block.d);
  const float m = f32_from_f16(block.m);
  for (int j = 0; j < 32; ++j) dst[j] = d * static_cast<float>(five_bits_at(block, j)) + m;
}

void encode_block(const float* x, const float* importance, BlockQ5_1& block) {
  const auto [min, max] = extent_of(x, 32);
  BlockLine line{(max - min) / 31.0F, min};
  if (importance != nullptr) line = fit_line<32>(31.0F, x, importance);
  const float inverse = inverse_or_zero(line.d);
  block.d = f16_from_f32(line.d);
  block.m = f16_from_f32(line.m);
  for (int j = 0; j < 32; ++j) {
    put_five_bits(block, j, truncated_level((x[j] - line.m) * inverse + 0.5F, 31));
  }
}

}  // namespace

void decode_q5_1(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockQ5_1, decode_block>(src, dst, n);
}
void encode_q5_1(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockQ5_1, encode_block>(src, importance, dst, n);
}

}  // namespace ruv
