// Formats with a scale for the row: look up levels, scale.
#include "tensor/formats/ik_ks.h"

#include "tensor/formats/ik_levels.h"
#include "tensor/formats/row_blocks.h"

namespace ruv {
namespace {

// Index of number i in two bits, and bit i / 32 of byte i mod 32.
int low_two(const uint8_t* q, int i) { return (q[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2)) & 3; }
int bit_above(const uint8_t* high, int i) { return (high[i % 32] >> (i / 32)) & 1; }

// The scale and the set in one byte, of IQ4_KS, IQ4_KSS and IQ5_KS.
float scale_of_byte(float d, int byte) { return d * static_cast<float>((byte & 254) - 127); }

void decode_2_ks(const BlockIQ2_KS& block, float d, float* dst) {
  for (int i = 0; i < kSuperBlock; ++i) {
    const int s = i / 32;
    const int fifth = (block.extra >> (8 + s)) & 1;
    const int bits = ((block.scales[s / 2] >> (s % 2 * 4)) & 0xF) | (fifth << 4);
    const int8_t* levels = kLevelsIk2 + 4 * ((block.extra >> s) & 1);
    dst[i] = d * static_cast<float>(bits - 16) * static_cast<float>(levels[low_two(block.q, i)]);
  }
}

void decode_3_ks(const BlockIQ3_KS& block, float d, float* dst) {
  for (int i = 0; i < kSuperBlock; ++i) {
    const int s = i / 32;
    const int fifth = (block.extra >> s) & 1;
    const int bits = ((block.scales[s % 4] >> (s / 4 * 4)) & 0xF) | (fifth << 4);
    const int8_t* levels = kLevelsIk3 + 8 * ((block.extra >> (8 + s)) & 1);
    const int index = low_two(block.q, i) | (bit_above(block.high, i) << 2);
    dst[i] = d * static_cast<float>(bits - 16) * static_cast<float>(levels[index]);
  }
}

// 32 numbers in 16 bytes.
void put_four(const uint8_t* q, int scale_byte, float d, float* dst) {
  const float scale = scale_of_byte(d, scale_byte);
  const int8_t* levels = kLevelsIk4 + 16 * (scale_byte & 1);
  for (int j = 0; j < 16; ++j) {
    dst[j] = scale * static_cast<float>(levels[q[j] & 0xF]);
    dst[j + 16] = scale * static_cast<float>(levels[q[j] >> 4]);
  }
}

void decode_4_ks(const BlockIQ4_KS& block, float d, float* dst) {
  for (int s = 0; s < 8; ++s) put_four(block.q + 16 * s, block.scales[s], d, dst + 32 * s);
}

void decode_4_kss(const BlockIQ4_KSS& block, float d, float* dst) {
  for (int s = 0; s < 8; ++s) {
    uint8_t q[16];
    int scale_byte = 0;
    for (int k = 0; k < 8; ++k) {
      const int word = block.q[8 * s + k];
      const int upper = word & 0xFFFE;
      const int indices = upper ^ (upper >> 1);
      scale_byte |= (word & 1) << k;
      q[2 * k] = static_cast<uint8_t>(indices);
      q[2 * k + 1] = static_cast<uint8_t>(indices >> 8);
    }
    put_four(q, scale_byte, d, dst + 32 * s);
  }
}

void decode_5_ks(const BlockIQ5_KS& block, float d, float* dst) {
  for (int i = 0; i < kSuperBlock; ++i) {
    const int s = i / 32;
    const int nibble = (block.q[i / 64 * 32 + i % 32] >> (s % 2 * 4)) & 0xF;
    const int index = nibble | (bit_above(block.high, i) << 4);
    const int8_t* levels = kLevelsIk5 + 32 * (block.scales[s] & 1);
    dst[i] = scale_of_byte(d, block.scales[s]) * static_cast<float>(levels[index]);
  }
}

void decode_2_kl(const BlockIQ2_KL& block, float d, float* dst) {
  for (int s = 0; s < 8; ++s) {
    const int low = (block.scales_low[s % 4] >> (s / 4 * 4)) & 0xF;
    const int high = (block.scales_high >> (2 * s)) & 3;
    const float scale = d * static_cast<float>((low | (high << 4)) - 32);
    for (int j = 0; j < 16; ++j) {
      const int nibble = (block.q[s / 2 * 16 + j] >> (s % 2 * 4)) & 0xF;
      const int8_t* pair = kPairsIk2Kl + 2 * (nibble | (((block.high[j] >> s) & 1) << 4));
      dst[32 * s + 2 * j] = scale * static_cast<float>(pair[0]);
      dst[32 * s + 2 * j + 1] = scale * static_cast<float>(pair[1]);
    }
  }
}

}  // namespace

void decode_iq2_ks(const void* src, float* dst, int64_t n) {
  decode_row_blocks<BlockIQ2_KS, kHalfHeader, decode_2_ks>(src, dst, n);
}
void decode_iq3_ks(const void* src, float* dst, int64_t n) {
  decode_row_blocks<BlockIQ3_KS, kHalfHeader, decode_3_ks>(src, dst, n);
}
void decode_iq4_ks(const void* src, float* dst, int64_t n) {
  decode_row_blocks<BlockIQ4_KS, kFloatHeader, decode_4_ks>(src, dst, n);
}
void decode_iq4_kss(const void* src, float* dst, int64_t n) {
  decode_row_blocks<BlockIQ4_KSS, kFloatHeader, decode_4_kss>(src, dst, n);
}
void decode_iq5_ks(const void* src, float* dst, int64_t n) {
  decode_row_blocks<BlockIQ5_KS, kFloatHeader, decode_5_ks>(src, dst, n);
}
void decode_iq2_kl(const void* src, float* dst, int64_t n) {
  decode_row_blocks<BlockIQ2_KL, kHalfHeader, decode_2_kl>(src, dst, n);
}

void decode_q8_kv(const void* src, float* dst, int64_t n) {
  const auto* bytes = static_cast<const std::byte*>(src);
  const float d = row_scale<kFloatHeader>(bytes);
  for (int64_t i = 0; i < n; ++i) {
    dst[i] = d * static_cast<float>(static_cast<int8_t>(bytes[kKvHeader + i]));
  }
}

}  // namespace ruv
