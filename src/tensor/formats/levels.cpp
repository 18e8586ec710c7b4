// Uneven levels under an f32 scale.
#include "tensor/formats/levels.h"

#include "tensor/formats/block.h"

namespace ruv {
namespace {

template <const float (&kLevels)[16], class Block>
void decode_levels(const Block& block, float* dst) {
  constexpr int kHalf = Block::kSize / 2;
  for (int j = 0; j < kHalf; ++j) {
    dst[j] = block.d * kLevels[block.q[j] & 0xF];
    dst[j + kHalf] = block.d * kLevels[block.q[j] >> 4];
  }
}

}  // namespace

void decode_nf4(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockLevels, decode_levels<kLevelsNf4, BlockLevels>>(src, dst, n);
}
void decode_fp4(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockLevels, decode_levels<kLevelsFp4, BlockLevels>>(src, dst, n);
}
void decode_e2m1(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockE2m1, decode_levels<kLevelsE2m1, BlockE2m1>>(src, dst, n);
}

}  // namespace ruv
