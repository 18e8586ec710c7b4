// IQ2_K to IQ6_K: look up levels, scale.
#include "tensor/formats/ik_k.h"

#include "tensor/formats/block.h"
#include "tensor/formats/ik_levels.h"

namespace ruv {
namespace {

// Scale s of those that IQ4_K and IQ5_K keep in six bits.
float scale_of_six(const uint8_t* low, const uint8_t* high, int s) {
  const int bits = ((low[s / 2] >> (s % 2 * 4)) & 0xF) | (((high[s / 4] >> (s % 4 * 2)) & 3) << 4);
  return static_cast<float>(bits - 32);
}

// Index of number i in two bits.
int two_bits(const uint8_t* q, int i) { return (q[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2)) & 3; }

// Low four bits of number i where bytes hold numbers 32 apart.
int wide_nibble(const uint8_t* q, int i) {
  return (q[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4)) & 0xF;
}

// Bit i / 32 of byte i mod 32.
int high_bit(const uint8_t* high, int i) { return (high[i % 32] >> (i / 32)) & 1; }

void decode_two(const BlockIQ2_K& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int s = i / 16;
    const int nibble = (block.scales[s / 2] >> (s % 2 * 4)) & 0xF;
    const int8_t* levels = kLevelsIk2 + 4 * ((block.sets >> s) & 1);
    dst[i] = d * static_cast<float>(nibble - 8) * static_cast<float>(levels[two_bits(block.q, i)]);
  }
}

void decode_three(const BlockIQ3_K& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int s = i / 16;
    const int odd = 2 * ((block.scales[s / 2] >> (s % 2 * 4)) & 0xF) + 1;
    const float scale = d * static_cast<float>(((block.minus >> s) & 1) != 0 ? -odd : odd);
    const int8_t* levels = kLevelsIk3 + 8 * ((block.sets >> s) & 1);
    const int index = two_bits(block.q, i) | (high_bit(block.high, i) << 2);
    dst[i] = scale * static_cast<float>(levels[index]);
  }
}

void decode_four(const BlockIQ4_K& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int s = i / 16;
    const float scale = d * scale_of_six(block.scales_low, block.scales_high, s);
    const int index = (block.q[i / 32 * 16 + i % 16] >> (i / 16 % 2 * 4)) & 0xF;
    dst[i] = scale * static_cast<float>(kLevelsIk4[16 * ((block.sets >> s) & 1) + index]);
  }
}

void decode_five(const BlockIQ5_K& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int s = i / 16;
    const float scale = d * scale_of_six(block.scales_low, block.scales_high, s);
    const int index = wide_nibble(block.q, i) | (high_bit(block.high, i) << 4);
    dst[i] = scale * static_cast<float>(kLevelsIk5[32 * ((block.sets >> s) & 1) + index]);
  }
}

// The standard's polynomial, in its order of operations.
float level_of_six(int index) {
  const auto q = static_cast<float>(index);
  return -127.0F + q * (6.2568F + q * (-0.11218F + q * 0.0011972F));
}

void decode_six(const BlockIQ6_K& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int s = i / 16;
    const float scale = d * static_cast<float>(block.scales[s]);
    const int top = (block.high[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2)) & 3;
    const float raised = ((block.raised >> s) & 1) != 0 ? 1.0F : 0.0F;
    dst[i] = scale * (level_of_six(wide_nibble(block.q, i) | (top << 4)) + raised);
  }
}

}  // namespace

void decode_iq2_k(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ2_K, decode_two>(src, dst, n);
}
void decode_iq3_k(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ3_K, decode_three>(src, dst, n);
}
void decode_iq4_k(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ4_K, decode_four>(src, dst, n);
}
void decode_iq5_k(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ5_K, decode_five>(src, dst, n);
}
void decode_iq6_k(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockIQ6_K, decode_six>(src, dst, n);
}

}  // namespace ruv
