// The 32-number weight formats for gemm_int8.inc.h: how a packed block becomes codes and scales.
#pragma once

#include "kernels/generic/gemm_panel.inc.h"
#include "kernels/pack/layout.h"
#include "kernels/pack/packing.h"

namespace ruv {
namespace {

template <class V>
RUV_INLINE void unpack_nibbles(const std::byte* planes, typename V::B* out) {
  RUV_UNROLL
  for (int j = 0; j < 4; ++j) {
    const typename V::B both = V::load_bytes(planes + j * 4 * V::kLanes);
    out[j] = V::low_nibbles(both);
    out[j + 4] = V::high_nibbles(both);
  }
}

// Adds `weight` to the codes whose bit is set in a "bits" plane.
template <class V, int kWeight>
RUV_INLINE void unpack_bits(const std::byte* plane, typename V::B* out) {
  const typename V::B bits = V::load_bytes(plane);
  out[0] = V::or_(out[0], V::template bit<0, kWeight>(bits));
  out[1] = V::or_(out[1], V::template bit<1, kWeight>(bits));
  out[2] = V::or_(out[2], V::template bit<2, kWeight>(bits));
  out[3] = V::or_(out[3], V::template bit<3, kWeight>(bits));
  out[4] = V::or_(out[4], V::template bit<4, kWeight>(bits));
  out[5] = V::or_(out[5], V::template bit<5, kWeight>(bits));
  out[6] = V::or_(out[6], V::template bit<6, kWeight>(bits));
  out[7] = V::or_(out[7], V::template bit<7, kWeight>(bits));
}

struct NothingOpened {};

template <class V, DType kDType, class Packed, int kMaxCode, int kCodeOffset, bool kHasMins>
struct BlockFormat {
  using Layout = Packed;
  static constexpr DType kType = kDType;
  static constexpr int kMax = kMaxCode;
  static constexpr int kOffset = kCodeOffset;
  static constexpr int kScales = 1;
  static constexpr bool kMins = kHasMins;

  RUV_INLINE static NothingOpened open(const std::byte*) { return {}; }
  RUV_INLINE static void unpack(NothingOpened, const std::byte* chunk, int b,
                                const std::byte* planes, Unpacked<V>& w) {
    const std::byte* scales = chunk + b * 2 * V::kLanes;
    w.scale[0] = V::load_f16(scales);
    if constexpr (kMins) w.minimum[0] = V::load_f16(scales + 4 * V::kLanes);
    if constexpr (Layout::kBlockVectors == 8) {
      RUV_UNROLL
      for (int j = 0; j < 8; ++j) w.codes[j] = V::load_bytes(planes + j * 4 * V::kLanes);
    } else {
      unpack_nibbles<V>(planes, w.codes);
      if constexpr (Layout::kBlockVectors == 5) {
        unpack_bits<V, 16>(planes + 16 * V::kLanes, w.codes);
      }
      if constexpr (kType == DType::iq4_nl) {
        RUV_UNROLL
        for (int j = 0; j < 8; ++j) w.codes[j] = V::iq4_values(w.codes[j]);
      }
    }
  }
};

template <class V>
using Q8_0 = BlockFormat<V, DType::q8_0, PackedQ8_0, V::kByteMax, V::kByteOffset, false>;
template <class V>
using Q4_0 = BlockFormat<V, DType::q4_0, PackedQ4_0, 15, 8, false>;
template <class V>
using Q4_1 = BlockFormat<V, DType::q4_1, PackedQ4_1, 15, 0, true>;
// The zero is where minimums are, negative; it becomes one by the scale, without rounding.
template <class V>
struct A4 : BlockFormat<V, DType::a4, PackedQ4_1, 15, 0, true> {
  using Base = BlockFormat<V, DType::a4, PackedQ4_1, 15, 0, true>;

  RUV_INLINE static void unpack(NothingOpened opened, const std::byte* chunk, int b,
                                const std::byte* planes, Unpacked<V>& w) {
    Base::unpack(opened, chunk, b, planes, w);
    w.minimum[0] = V::mul(w.scale[0], w.minimum[0]);
  }
};
// Scale and least number are float32.
template <class V, DType kDType, class Packed, int kMaxCode, int kCodeOffset>
struct AffineFormat {
  using Layout = Packed;
  static constexpr DType kType = kDType;
  static constexpr int kMax = kMaxCode;
  static constexpr int kOffset = kCodeOffset;
  static constexpr int kScales = 1;
  static constexpr bool kMins = true;

  RUV_INLINE static NothingOpened open(const std::byte*) { return {}; }
  RUV_INLINE static void unpack(NothingOpened, const std::byte* chunk, int /*b*/,
                                const std::byte* planes, Unpacked<V>& w) {
    w.scale[0] = V::load(reinterpret_cast<const float*>(chunk));
    w.minimum[0] = V::load(reinterpret_cast<const float*>(chunk) + V::kLanes);
    if constexpr (Layout::kBlockVectors == 8) {
      RUV_UNROLL
      for (int j = 0; j < 8; ++j) w.codes[j] = V::load_bytes(planes + j * 4 * V::kLanes);
    } else {
      unpack_nibbles<V>(planes, w.codes);
    }
  }
};
template <class V>
using A4F32 = AffineFormat<V, DType::a4_f32, PackedA4F32, 15, 0>;
template <class V>
using A8F32 = AffineFormat<V, DType::a8_f32, PackedA8F32, V::kByteMax, V::kByteOffset>;
template <class V>
using Q5_0 = BlockFormat<V, DType::q5_0, PackedQ5_0, 31, 16, false>;
template <class V>
using Q5_1 = BlockFormat<V, DType::q5_1, PackedQ5_1, 31, 0, true>;
template <class V>
using Iq4Nl = BlockFormat<V, DType::iq4_nl, PackedQ4_0, V::kByteMax, V::kByteOffset, false>;

using PackFunction = void(std::byte*, const std::byte* const*, int64_t);

template <class V, class F>
constexpr GemmKernel block_row_packed_by(PackFunction* pack) {
  return {F::kType, ActFormat::q8,       V::kLanes,        packed_bytes<F::kType, V::kLanes>,
          pack,     multiply_rows<V, F>, kAheadBytes<V, F>};
}

template <class V, class F>
constexpr GemmKernel block_row() {
  return block_row_packed_by<V, F>(pack_group<F::kType, V::kLanes>);
}

}  // namespace
}  // namespace ruv
