// Integers under a scale and a zero.
#include "tensor/formats/affine.h"

#include "tensor/formats/block.h"
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

}  // namespace

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
