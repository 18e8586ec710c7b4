// Q4_1: 16 levels spread from the least to the greatest number.
#include "tensor/formats/q4_1.h"

#include "tensor/formats/fit_block.h"

namespace ruv {
namespace {

void decode_block(const BlockQ4_1& block, float* dst) {
  const float d = f32_from_f16(block.d);
  const float m = f32_from_f16(block.m);
  for (int j = 0; j < 16; ++j) {
    dst[j] = d * static_cast<float>(block.q[j] & 0xF) + m;
    dst[j + 16] = d * static_cast<float>(block.q[j] >> 4) + m;
  }
}

void encode_block(const float* x, const float* importance, BlockQ4_1& block) {
  const auto [min, max] = extent_of(x, 32);
  BlockLine line{(max - min) / 15.0F, min};
  if (importance != nullptr) line = fit_line<32>(15.0F, x, importance);
  const float inverse = inverse_or_zero(line.d);
  block.d = f16_from_f32(line.d);
  block.m = f16_from_f32(line.m);
  for (int j = 0; j < 16; ++j) {
    const int low = truncated_level((x[j] - line.m) * inverse + 0.5F, 15);
    const int high = truncated_level((x[j + 16] - line.m) * inverse + 0.5F, 15);
    block.q[j] = static_cast<uint8_t>(low | (high << 4));
  }
}

}  // namespace

void decode_q4_1(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockQ4_1, decode_block>(src, dst, n);
}
void encode_q4_1(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockQ4_1, encode_block>(src, importance, dst, n);
}

}  // namespace ruv
