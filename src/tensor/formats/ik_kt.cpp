// IQ1_KT to IQ4_KT: run the generator, scale.
#include "tensor/formats/ik_kt.h"

#include "tensor/formats/iq4.h"
#include "tensor/formats/row_blocks.h"

namespace ruv {
namespace {

constexpr uint32_t kFactor = 0xCBAC1FED;
constexpr uint32_t kFirstState = 4096;
constexpr uint32_t kOtherStates = 32768;

// The next number of a group, -126..126.
float next_number(uint32_t& state) {
  state *= kFactor;
  const uint32_t six = state & 0x3F3F3F3F;
  const uint32_t sum = (six & 0xFF) + ((six >> 8) & 0xFF) + ((six >> 16) & 0xFF) + (six >> 24);
  return static_cast<float>(static_cast<int>(sum) - 126);
}

void put_group(uint32_t first, int n, float scale, float* dst) {
  uint32_t state = first;
  for (int i = 0; i < n; ++i) dst[i] = scale * next_number(state);
}

// Nibble s of four bytes that have 0..3 in the low nibbles.
int nibble_of(const uint8_t* scales, int s) { return (scales[s % 4] >> (s / 4 * 4)) & 0xF; }

void decode_1_kt(const BlockIQ1_KT& block, float d, float* dst) {
  for (int g = 0; g < 32; ++g) {
    const int byte = block.scales[g / 4];
    const int high = (block.high[g % 16] >> (g / 16 * 4)) & 0xF;
    const int top = (byte >> (4 + g % 4)) & 1;
    const auto index = static_cast<uint32_t>(block.q[g] | (high << 8) | (top << 12));
    const float scale = d * static_cast<float>(kLevelsIq4[byte & 0xF]);
    put_group(index + kFirstState, 8, scale, dst + 8 * g);
  }
}

void decode_2_kt(const BlockIQ2_KT& block, float d, float* dst) {
  for (int g = 0; g < 32; ++g) {
    const float scale = d * static_cast<float>(kLevelsIq4[nibble_of(block.scales, g / 4)]);
    put_group(block.q[g] + kFirstState, 8, scale, dst + 8 * g);
  }
}

void decode_3_kt(const BlockIQ3_KT& block, float d, float* dst) {
  for (int g = 0; g < 32; ++g) {
    const int s = g / 4;
    const float scale = d * static_cast<float>(nibble_of(block.scales, s));
    uint32_t state = block.q[g] + kFirstState;
    for (int i = 0; i < 8; ++i) {
      const float number = scale * std::fabs(next_number(state));
      const bool is_minus = ((block.signs[g % 4 * 8 + i] >> s) & 1) != 0;
      dst[8 * g + i] = is_minus ? -number : number;
    }
  }
}

void decode_4_kt(const BlockIQ4_KT& block, float d, float* dst) {
  for (int g = 0; g < 64; ++g) {
    const uint32_t word = block.scales[g / 8];
    const auto high = static_cast<uint32_t>(block.high[g % 32] >> (g / 32 * 4)) & 0xF;
    const uint32_t top = (word >> (8 + g % 8 * 3)) & 7;
    const uint32_t index = block.q[g] | (high << 8) | (top << 12);
    const uint32_t first = kFirstState + ((word & 1) != 0 ? kOtherStates : 0);
    const float scale = d * static_cast<float>(static_cast<int>((word & 0xFF) >> 1) - 64);
    put_group(index + first, 4, scale, dst + 4 * g);
  }
}

}  // namespace

void decode_iq1_kt(const void* src, float* dst, int64_t n) {
  decode_row_blocks<BlockIQ1_KT, kFloatHeader, decode_1_kt>(src, dst, n);
}
void decode_iq2_kt(const void* src, float* dst, int64_t n) {
  decode_row_blocks<BlockIQ2_KT, kFloatHeader, decode_2_kt>(src, dst, n);
}
void decode_iq3_kt(const void* src, float* dst, int64_t n) {
  decode_row_blocks<BlockIQ3_KT, kFloatHeader, decode_3_kt>(src, dst, n);
}
void decode_iq4_kt(const void* src, float* dst, int64_t n) {
  decode_row_blocks<BlockIQ4_KT, kFloatHeader, decode_4_kt>(src, dst, n);
}

}  // namespace ruv
