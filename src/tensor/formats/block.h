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

// x truncated and clamped to [0, top]; NaN gives 0. Without branches, so that loops over numbers
// become vectors; so is rounded_level.
inline int truncated_level(float x, int top) {
  const float from_zero = x > 0.0F ? x : 0.0F;
  const auto end = static_cast<float>(top);
  return static_cast<int>(from_zero < end ? from_zero : end);
}

// x rounded half away from zero and clamped to [-top, top]; NaN gives 0.
inline int rounded_level(float x, int top) {
  const float wide = std::fabs(x);
  const float number = wide > 0.0F ? wide : 0.0F;
  const auto end = static_cast<float>(top);
  const float magnitude = number < end ? number : end;
  const int whole = static_cast<int>(magnitude);
  const int level = whole + (magnitude - static_cast<float>(whole) >= 0.5F ? 1 : 0);
  return x < 0.0F ? -level : level;
}

// The number of greatest magnitude, with its sign; the first among equals. Requires: n is a
// multiple of 4.
inline float extreme(const float* x, int n) {
  float tops[4] = {};
  for (int i = 0; i < n; i += 4) {
    for (int lane = 0; lane < 4; ++lane) {
      const float magnitude = std::fabs(x[i + lane]);
      tops[lane] = magnitude > tops[lane] ? magnitude : tops[lane];
    }
  }
  float top = 0.0F;
  for (const float one : tops) top = one > top ? one : top;
  for (int i = 0; i < n && top > 0.0F; ++i) {
    if (std::fabs(x[i]) == top) return x[i];
  }
  return 0.0F;
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
