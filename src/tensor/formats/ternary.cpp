// TQ1_0 and TQ2_0. The scale is the greatest magnitude, so encoding is lossless for weights that
// were trained to be ternary and destroys all others.
#include "tensor/formats/ternary.h"

#include "tensor/formats/block.h"

namespace ruv {
namespace {

constexpr int kPower[5] = {1, 3, 9, 27, 81};

// Where the digits of a run of bytes go: digit p of byte j is number first + p · n_bytes + j.
struct DigitRun {
  int n_bytes;
  int n_digits;
  int first;
};
constexpr DigitRun kWide{32, 5, 0};
constexpr DigitRun kNarrow{16, 5, 160};
constexpr DigitRun kLast{4, 4, 240};

// Multiplying by 3^p drops the first p digits out of the byte's top; the next one is then the
// integer part of 3/256 of what is left.
void decode_run(const uint8_t* q, const DigitRun& run, float d, float* dst) {
  for (int p = 0; p < run.n_digits; ++p) {
    for (int j = 0; j < run.n_bytes; ++j) {
      const auto shifted = static_cast<uint8_t>(q[j] * kPower[p]);
      dst[run.first + p * run.n_bytes + j] = d * static_cast<float>(((shifted * 3) >> 8) - 1);
    }
  }
}

// Rounds up, so that decode_run's truncations find every digit.
void encode_run(const int8_t* digits, const DigitRun& run, uint8_t* q) {
  for (int j = 0; j < run.n_bytes; ++j) {
    int value = 0;
    for (int p = 0; p < run.n_digits; ++p) {
      value += digits[run.first + p * run.n_bytes + j] * kPower[4 - p];
    }
    q[j] = static_cast<uint8_t>((value * 256 + 242) / 243);
  }
}

// Digits 0..2 of 256 numbers; returns the scale.
float ternary_digits(const float* x, int8_t* digits) {
  const float d = std::fabs(extreme(x, kSuperBlock));
  const float inverse = inverse_or_zero(d);
  for (int i = 0; i < kSuperBlock; ++i) {
    digits[i] = static_cast<int8_t>(rounded_level(x[i] * inverse, 1) + 1);
  }
  return d;
}

void decode_base3(const BlockTQ1_0& block, float* dst) {
  const float d = f32_from_f16(block.d);
  decode_run(block.q, kWide, d, dst);
  decode_run(block.q + kWide.n_bytes, kNarrow, d, dst);
  decode_run(block.last, kLast, d, dst);
}

void encode_base3(const float* x, const float* /*importance*/, BlockTQ1_0& block) {
  int8_t digits[kSuperBlock];
  block.d = f16_from_f32(ternary_digits(x, digits));
  encode_run(digits, kWide, block.q);
  encode_run(digits, kNarrow, block.q + kWide.n_bytes);
  encode_run(digits, kLast, block.last);
}

void decode_bits(const BlockTQ2_0& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int byte = block.q[i / 128 * 32 + i % 32];
    dst[i] = d * static_cast<float>(((byte >> (i / 32 % 4 * 2)) & 3) - 1);
  }
}

void encode_bits(const float* x, const float* /*importance*/, BlockTQ2_0& block) {
  int8_t digits[kSuperBlock];
  block.d = f16_from_f32(ternary_digits(x, digits));
  for (int i = 0; i < kSuperBlock; ++i) {
    uint8_t& byte = block.q[i / 128 * 32 + i % 32];
    byte = static_cast<uint8_t>(byte | (digits[i] << (i / 32 % 4 * 2)));
  }
}

}  // namespace

void decode_tq1_0(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockTQ1_0, decode_base3>(src, dst, n);
}
void encode_tq1_0(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockTQ1_0, encode_base3>(src, importance, dst, n);
}
void decode_tq2_0(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockTQ2_0, decode_bits>(src, dst, n);
}
void encode_tq2_0(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockTQ2_0, encode_bits>(src, importance, dst, n);
}

}  // namespace ruv
