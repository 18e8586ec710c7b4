// IQ1_BN, IQ2_BN, Q6_0.
#include "tensor/formats/ik_bits.h"

#include "tensor/formats/row_blocks.h"

namespace ruv {
namespace {

constexpr int kPowerOfThree[5] = {1, 3, 9, 27, 81};

// The standard numbers the digits of a byte from the least power, which is its last.
float digit_at(uint8_t byte, int i, float d) {
  const auto shifted = static_cast<uint8_t>(byte * kPowerOfThree[4 - i]);
  return d * static_cast<float>(((shifted * 3) >> 8) - 1);
}

void decode_1_bn(const BlockIQ1_BN& block, float d, float* dst) {
  for (int k = 0; k < 12; ++k) {
    for (int i = 0; i < 5; ++i) dst[16 * (k / 3) + 5 * (k % 3) + i] = digit_at(block.q[k], i, d);
  }
  for (int i = 0; i < 4; ++i) dst[16 * i + 15] = digit_at(block.last, i, d);
}

void decode_2_bn(const BlockIQ2_BN& block, float d, float* dst) {
  for (int i = 0; i < BlockIQ2_BN::kSize; ++i) {
    dst[i] = d * static_cast<float>(((block.q[i % 16] >> (i / 16 * 2)) & 3) - 1);
  }
}

void decode_6(const BlockQ6_0& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int j = 0; j < 16; ++j) {
    const int high = block.high[j % 8] >> (j / 8 * 4);
    const int low = (block.q[j] & 0xF) | ((high & 3) << 4);
    const int upper = (block.q[j] >> 4) | (((high >> 2) & 3) << 4);
    dst[j] = d * static_cast<float>(low - 32);
    dst[j + 16] = d * static_cast<float>(upper - 32);
  }
}

}  // namespace

void decode_iq1_bn(const void* src, float* dst, int64_t n) {
  decode_row_blocks<BlockIQ1_BN, kHalfHeader, decode_1_bn>(src, dst, n);
}
void decode_iq2_bn(const void* src, float* dst, int64_t n) {
  decode_row_blocks<BlockIQ2_BN, kFloatHeader, decode_2_bn>(src, dst, n);
}
void decode_q6_0(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockQ6_0, decode_6>(src, dst, n);
}

}  // namespace ruv
