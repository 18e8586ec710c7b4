// Q8_0, Q8_1, Q8_K: the greatest magnitude becomes 127, the rest is rounded.
#include "tensor/formats/q8_0.h"

#include "tensor/formats/fit_block.h"

namespace ruv {
namespace {

void decode_plain(const BlockQ8_0& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int j = 0; j < 32; ++j) dst[j] = static_cast<float>(block.q[j]) * d;
}

void decode_summed(const BlockQ8_1& block, float* dst) {
  const float d = f32_from_f16(block.d);
  for (int j = 0; j < 32; ++j) dst[j] = static_cast<float>(block.q[j]) * d;
}

void decode_super(const BlockQ8_K& block, float* dst) {
  for (int j = 0; j < 256; ++j) dst[j] = block.d * static_cast<float>(block.q[j]);
}

// Writes 32 levels; returns their sum.
int round_all(const float* x, float inverse, int8_t* q) {
  int sum = 0;
  for (int j = 0; j < 32; ++j) {
    const int level = rounded_level(x[j] * inverse, 127);
    q[j] = static_cast<int8_t>(level);
    sum += level;
  }
  return sum;
}

void encode_plain(const float* x, const float* importance, BlockQ8_0& block) {
  float d = std::fabs(extreme(x, 32)) / 127.0F;
  if (importance != nullptr) d = fit_block_scale<32>({-127.0F, 127.0F}, x, importance, 0.01F, 9);
  round_all(x, inverse_or_zero(d), block.q);
  block.d = f16_from_f32(d);
}

void encode_summed(const float* x, const float* /*importance*/, BlockQ8_1& block) {
  const float d = std::fabs(extreme(x, 32)) / 127.0F;
  const int sum = round_all(x, inverse_or_zero(d), block.q);
  block.d = f16_from_f32(d);
  block.sum = f16_from_f32(static_cast<float>(sum) * d);
}

// The reference encoder maps the extreme number to −127 and rounds ties to even.
void encode_super(const float* x, const float* /*importance*/, BlockQ8_K& block) {
  const float top = extreme(x, 256);
  const float inverse = top == 0.0F ? 0.0F : -127.0F / top;
  for (int j = 0; j < 256; ++j) {
    const float level = std::nearbyint(x[j] * inverse);
    block.q[j] = static_cast<int8_t>(rounded_level(level, 127));
    block.sums[j / 16] = static_cast<int16_t>(block.sums[j / 16] + block.q[j]);
  }
  block.d = inverse_or_zero(inverse);
}

}  // namespace

void decode_q8_0(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockQ8_0, decode_plain>(src, dst, n);
}
void encode_q8_0(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockQ8_0, encode_plain>(src, importance, dst, n);
}
void decode_q8_1(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockQ8_1, decode_summed>(src, dst, n);
}
void encode_q8_1(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockQ8_1, encode_summed>(src, importance, dst, n);
}
void decode_q8_k(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockQ8_K, decode_super>(src, dst, n);
}
void encode_q8_k(const float* src, const float* importance, void* dst, int64_t n) {
  encode_blocks<BlockQ8_K, encode_super>(src, importance, dst, n);
}

}  // namespace ruv
