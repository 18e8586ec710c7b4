// Walking over the blocks of a row that begins with a header: its scale.
#pragma once

#include "tensor/formats/block.h"

namespace ruv {

inline constexpr int kHalfHeader = 2;   // an f16
inline constexpr int kFloatHeader = 4;  // an f32
inline constexpr int kKvHeader = 8;     // of Q8_KV: an f32, and a sum that is not read

// The scale of a row: an f16 or f32.
template <int kHeaderBytes>
float row_scale(const void* src) {
  if constexpr (kHeaderBytes == kHalfHeader) {
    uint16_t half = 0;
    std::memcpy(&half, src, sizeof half);
    return f32_from_f16(half);
  } else {
    float scale = 0.0F;
    std::memcpy(&scale, src, sizeof scale);
    return scale;
  }
}

// Decodes one row of n numbers, whose header begins with the scale. kDecode writes the Block::kSize
// numbers of one block. Requires: n is a multiple of Block::kSize.
template <class Block, int kHeaderBytes, void (*kDecode)(const Block&, float, float*)>
void decode_row_blocks(const void* src, float* dst, int64_t n) {
  const auto* at = static_cast<const std::byte*>(src);
  const float d = row_scale<kHeaderBytes>(at);
  at += kHeaderBytes;
  for (int64_t i = 0; i < n; i += Block::kSize, at += sizeof(Block)) {
    Block block;
    std::memcpy(&block, at, sizeof(Block));
    kDecode(block, d, dst + i);
  }
}

}  // namespace ruv
