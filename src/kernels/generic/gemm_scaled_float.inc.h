// Small floats under an f32 scale of 32 numbers (e4m3, e5m2, nf4, fp4) times float32: a stretch of
// K is converted to a float32 panel in the first-level cache, with the rounding of the format's
// decoder, and multiplied as float32 weights are. So the bytes are those of decoded weights.
#pragma once

#include "kernels/generic/gemm_float.inc.h"
#include "tensor/formats/levels.h"

namespace ruv {
namespace {

struct Nf4Levels {
  static constexpr const float* kLevels = kLevelsNf4;
};
struct Fp4Levels {
  static constexpr const float* kLevels = kLevelsFp4;
};

// A chunk is 32 numbers of four vectors of lanes: scales, then codes, number by number.
template <class V, DType kDType>
struct ScaledFloat {
  static constexpr DType kType = kDType;
  static constexpr bool kNibbles = kDType == DType::nf4 || kDType == DType::fp4;
  static constexpr int kLanes = kFloatVectors * V::kLanes;
  static constexpr int kChunkBytes = (4 + (kNibbles ? 16 : 32)) * kLanes;

  // Number j of every lane of a vector. Codes of four bits: j + 16 is above j.
  RUV_INLINE static typename V::F level(const std::byte* codes, int j) {
    if constexpr (kDType == DType::nf4) {
      return V::template look_up_floats<Nf4Levels>(codes + j % 16 * kLanes, j / 16 * 4);
    } else if constexpr (kDType == DType::fp4) {
      return V::template look_up_floats<Fp4Levels>(codes + j % 16 * kLanes, j / 16 * 4);
    } else if constexpr (kDType == DType::e4m3) {
      // As a float32 of these bits the exponent is 120 too small; subnormal ones come out right.
      return V::mul(V::template from_float8<20>(codes + j * kLanes), V::set(0x1p120F));
    } else {
      static_assert(kDType == DType::e5m2);
      return V::mul(V::template from_float8<21>(codes + j * kLanes), V::set(0x1p112F));
    }
  }
  static void convert(const std::byte* chunk, float* panel) {
    for (int v = 0; v < kFloatVectors; ++v) {
      const auto scale = V::load(reinterpret_cast<const float*>(chunk) + v * V::kLanes);
      const std::byte* codes = chunk + 4 * kLanes + v * V::kLanes;
      RUV_UNROLL
      for (int j = 0; j < 32; ++j) {
        V::store(panel + j * kLanes + v * V::kLanes, V::mul(scale, level(codes, j)));
      }
    }
  }
};

template <class V, class F>
void multiply_scaled_floats(const GemmArgs& args) {
  alignas(64) float panel[V::kFloatPanelSteps * F::kLanes];
  const int64_t group_bytes = args.k / 32 * F::kChunkBytes;
  const auto converted = [&](int64_t group, int64_t begin, int64_t n) {
    const std::byte* chunk = args.weights + group * group_bytes + begin / 32 * F::kChunkBytes;
    for (int64_t k = 0; k < n; k += 32, chunk += F::kChunkBytes) {
      for (int i = 0; i < F::kChunkBytes; i += 64) __builtin_prefetch(chunk + args.ahead + i);
      F::convert(chunk, panel + k * F::kLanes);
    }
    return reinterpret_cast<const std::byte*>(panel);
  };
  multiply_float_panels<V, FloatPanel<V>>(args, args.k, converted);
}

template <class V, DType kType>
constexpr GemmKernel scaled_float_row() {
  using F = ScaledFloat<V, kType>;
  return {kType,
          ActFormat::f32,
          F::kLanes,
          packed_scaled_float_bytes<kType, F::kLanes>,
          pack_scaled_float_group<kType, F::kLanes>,
          multiply_scaled_floats<V, F>,
          V::kFloatPrefetch};
}

}  // namespace
}  // namespace ruv
