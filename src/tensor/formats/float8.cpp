// Eight-bit floats under an f32 scale.
#include "tensor/formats/float8.h"

#include "tensor/formats/block.h"

namespace ruv {
namespace {

template <float (*widen)(uint8_t)>
void decode_float8(const BlockFloat8& block, float* dst) {
  for (int j = 0; j < 32; ++j) dst[j] = block.d * widen(block.q[j]);
}

}  // namespace

void decode_e4m3(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockFloat8, decode_float8<f32_from_e4m3>>(src, dst, n);
}
void decode_e5m2(const void* src, float* dst, int64_t n) {
  decode_blocks<BlockFloat8, decode_float8<f32_from_e5m2>>(src, dst, n);
}

}  // namespace ruv
