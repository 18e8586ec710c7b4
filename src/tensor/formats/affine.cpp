// Integers under a scale and a zero.
#include "tensor/formats/affine.h"

#include <algorithm>

#include "tensor/formats/fit_block.h"
#include "tensor/half.h"

namespace ruv {
namespace {

void decode_nibbles(const uint8_t* q, float d, float z, float* dst) {
  for (int j = 0; j < 16; ++j) {
    dst[j] = d * (static_cast<float>(q[j] & 0xF) - z);
    dst[j + 16] = d * (static_cast<float>(q[j] >> 4) - z);
  }
}

void decode_half_affine(const BlockA4& block, float* dst) {
  const float d = f32_from_f16(static_cast<uint16_t>(block.d[0] | block.d[1] << 8));
  decode_nibbles(block.q, d, static_cast<float>(block.z), dst);
}

void decode_wide_affine(const BlockA4F32& block, float* dst) {
  decode_nibbles(block.q, block.d, block.z, dst);
}

void decode_byte_affine(const BlockA8F32& block, float* dst) {
  for (int j = 0; j < 32; ++j) dst[j] = block.d * (static_cast<float>(block.q[j]) - block.z);
}

void encode_half_affine(const float* x, const float* importance, BlockA4& block) {
  const Extent extent = extent_of(x, 32);
  const float least = std::min(extent.min, 0.0F);
  BlockLine line{(std::max(extent.max, 0.0F) - least) / 15.0F, least};
  if (importance != nullptr) line = fit_line<32>(15.0F, x, importance);
  const float inverse = inverse_or_zero(line.d);
  const uint16_t half = f16_from_f32(line.d);
  block.d[0] = static_cast<uint8_t>(half & 0xFF);
  block.d[1] = static_cast<uint8_t>(half >> 8);
  block.z = static_cast<uint8_t>(truncated_level(0.5F - line.m * inverse, 15));
  const float zero = block.z;
  for (int j = 0; j < 16; ++j) {
    const int low = truncated_level(x[j] * inverse + zero + 0.5F, 15);
    const int high = truncated_level(x[j + 16] * inverse + zero + 0.5F, 15);
    block.q[j] = static_cast<uint8_t>(low | high << 4);
  }
}

}  // namespace

void encode_a4(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockA4, encode_half_affine>(src, importance, dst, n);
}
void decode_a4(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockA4, decode_half_affine>(src, dst, n);
}
void decode_a4_f32(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockA4F32, decode_wide_affine>(src, dst, n);
}
void decode_a8_f32(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockA8F32, decode_byte_affine>(src, dst, n);
}

}  // namespace ruv
