// What the block formats share: walking over blocks that may be at any address, and the few
// roundings that the formats' standard uses. A block is copied to the stack before it is read,
// since files do not align blocks.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/half.h"

namespace ruv {

// Numbers in a super-block of the K and IQ formats.
inline constexpr int kSuperBlock = 256;

// Decodes n numbers block by block. kDecode writes the Block::kSize numbers of one block. Requires:
// n is a multiple of Block::kSize.
template <class Block, void (*kDecode)(const Block&, float*)>
void decode_blocks(const void* src, float* dst, int64_t n) {
  const auto* at = static_cast<const std::byte*>(src);
  for (int64_t i = 0; i < n; i += Block::kSize, at += sizeof(Block)) {
    Block block;
    std::memcpy(&block, at, sizeof(Block));
    kDecode(block, dst + i);
  }
}

// As decode_blocks. kEncode gets the importance of the block's columns, or null.
template <class Block, void (*kEncode)(const float*, const float*, Block&)>
void encode_blocks(const float* src, const float* importance, void* dst, int64_t n) {
  auto* at = static_cast<std::byte*>(dst);
  for (int64_t i = 0; i < n; i += Block::kSize, at += sizeof(Block)) {
    Block block{};
    kEncode(src + i, importance == nullptr ? nullptr : importance + i, block);
    std::memcpy(at, &block, sizeof(Block));
  }
}

// 1 / x, or 0 for a block of zeros, whose scale is 0.
inline float inverse_or_zero(float x) { return x == 0.0F ? 0.0F : 1.0F / x; }

// x truncated and clamped to [0, top]; NaN gives 0.
inline int truncated_level(float x, int top) {
  if (!(x > 0.0F)) return 0;
  return x >= static_cast<float>(top) ? top : static_cast<int>(x);
}

// x rounded half away from zero and clamped to [-top, top]; NaN gives 0.
inline int rounded_level(float x, int top) {
  const float magnitude = std::round(std::fabs(x));
  if (!(magnitude > 0.0F)) return 0;
  const int level = magnitude >= static_cast<float>(top) ? top : static_cast<int>(magnitude);
  return x < 0.0F ? -level : level;
}

// The number of greatest magnitude, with its sign; the first among equals.
inline float extreme(const float* x, int n) {
  float found = 0.0F;
  for (int i = 0; i < n; ++i) {
    if (std::fabs(x[i]) > std::fabs(found)) found = x[i];
  }
  return found;
}

// Least and greatest of some numbers.
struct Extent {
  float min;
  float max;
};
// Requires: n > 0.
inline Extent extent_of(const float* x, int n) {
  Extent extent{x[0], x[0]};
  for (int i = 1; i < n; ++i) {
    if (x[i] < extent.min) extent.min = x[i];
    if (x[i] > extent.max) extent.max = x[i];
  }
  return extent;
}

}  // namespace ruv
