// Keys and values as codes of 4 or 2 bits, one scale and one least number per token and head:
// number = low + scale · code. Scale and low are bf16, so that a table of them is small.
#pragma once

#include <cstdint>

namespace ruv {

// The upper half of a float32 is a bf16.
inline float f32_of_bf16(uint16_t x) {
  const uint32_t bits = static_cast<uint32_t>(x) << 16;
  return __builtin_bit_cast(float, bits);
}

struct CodeScale {
  uint16_t scale = 0;  // bf16, rounded up: the largest number still has a code
  uint16_t low = 0;    // bf16, rounded down
};

// n numbers to codes in [0, 2^bits). Not-a-number becomes any code.
CodeScale quantize_codes(const float* x, uint8_t* codes, int64_t n, int bits);

// Token `slot` (of kPageTokens) of a page, as kernels/kernels.h lays out keys and values. Threads
// may store different tokens of one page at the same time.
void store_key_codes(const uint8_t* codes, int64_t head_dim, int64_t slot, int bits, void* keys);
void store_value_codes(const uint8_t* codes, int64_t head_dim, int64_t slot, int bits,
                       void* values);

// x = H · x, H the normalised Hadamard matrix of the largest power of two that divides n, block by
// block. H · H = 1, and products of two rotated vectors are those of the vectors.
void rotate_head(float* x, int64_t n);

}  // namespace ruv
