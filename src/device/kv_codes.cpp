#include "device/kv_codes.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

#include "tensor/page.h"

namespace ruv {

namespace {

// bf16 not below x, for x >= 0.
uint16_t bf16_above(float x) {
  return static_cast<uint16_t>((std::bit_cast<uint32_t>(x) + 0xFFFFU) >> 16);
}

// bf16 not above x: the bits of a negative number grow as it falls.
uint16_t bf16_below(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return static_cast<uint16_t>((bits >> 31) != 0 ? (bits + 0xFFFFU) >> 16 : bits >> 16);
}

constexpr float kLeastRange = 1e-30F;  // below it numbers are all the same

}  // namespace

CodeScale quantize_codes(const float* x, uint8_t* codes, int64_t n, int bits) {
  float least = n > 0 ? x[0] : 0.0F;
  float most = least;
  for (int64_t i = 1; i < n; ++i) {
    least = x[i] < least ? x[i] : least;
    most = x[i] > most ? x[i] : most;
  }
  const auto top = static_cast<float>((1 << bits) - 1);
  const uint16_t low = bf16_below(least);
  const float from = f32_of_bf16(low);
  const float range = most - from;
  if (!(range > kLeastRange)) {
    std::memset(codes, 0, static_cast<size_t>(n));
    return {0, low};
  }
  const uint16_t scale = bf16_above(range / top);
  const float inverse = 1.0F / f32_of_bf16(scale);
  for (int64_t i = 0; i < n; ++i) {
    const float code = (x[i] - from) * inverse + 0.5F;
    codes[i] = static_cast<uint8_t>(code < top ? (code > 0 ? code : 0.0F) : top);
  }
  return {scale, low};
}

void store_key_codes(const uint8_t* codes, int64_t head_dim, int64_t slot, int bits, void* keys) {
  auto* const bytes = static_cast<uint8_t*>(keys);
  const int64_t n_words = 8 / bits;
  const auto mask = static_cast<unsigned>((1 << bits) - 1);
  for (int64_t d = 0; d < head_dim; ++d) {
    const int64_t word = d / 4;
    uint8_t& byte = bytes[(word / n_words * kPageTokens + slot) * 4 + d % 4];
    const auto shift = static_cast<unsigned>(word % n_words * bits);
    byte = static_cast<uint8_t>((byte & ~(mask << shift)) | (unsigned{codes[d]} << shift));
  }
}

void store_value_codes(const uint8_t* codes, int64_t head_dim, int64_t slot, int bits,
                       void* values) {
  const int64_t n_tokens = 32 / bits;
  uint32_t* const words = static_cast<uint32_t*>(values) + slot / n_tokens * head_dim;
  const auto shift = static_cast<unsigned>(slot % 2 * 16 + slot % n_tokens / 2 * bits);
  const uint32_t mask = ((1U << bits) - 1) << shift;
  for (int64_t d = 0; d < head_dim; ++d) {
    // Other threads store other tokens of the same words, never these bits.
    const std::atomic_ref<uint32_t> word(words[d]);
    const uint32_t old = word.load(std::memory_order_relaxed);
    word.fetch_xor((old ^ uint32_t{codes[d]} << shift) & mask, std::memory_order_relaxed);
  }
}

void rotate_head(float* x, int64_t n) {
  if (n < 2) return;
  const int64_t block = n & -n;
  const float scale = 1.0F / std::sqrt(static_cast<float>(block));
  for (int64_t half = 1; half < block; half *= 2) {
    for (int64_t first = 0; first < n; first += 2 * half) {
      for (int64_t i = first; i < first + half; ++i) {
        const float a = x[i];
        const float b = x[i + half];
        x[i] = a + b;
        x[i + half] = a - b;
      }
    }
  }
  for (int64_t i = 0; i < n; ++i) x[i] *= scale;
}

}  // namespace ruv
