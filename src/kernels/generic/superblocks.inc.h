// The 256-number weight formats for gemm_int8.inc.h: how a packed block becomes codes and scales.
#pragma once

#include "kernels/generic/blocks.inc.h"

namespace ruv {
namespace {

// "pairs" planes: two bits of every code, shifted up by kShift.
template <class V, int kShift>
RUV_INLINE void unpack_pairs(const std::byte* planes, typename V::B* out) {
  RUV_UNROLL
  for (int v = 0; v < 2; ++v) {
    const typename V::B four = V::load_bytes(planes + v * 4 * V::kLanes);
    out[4 * v] = V::template pair<0, kShift>(four);
    out[4 * v + 1] = V::template pair<2, kShift>(four);
    out[4 * v + 2] = V::template pair<4, kShift>(four);
    out[4 * v + 3] = V::template pair<6, kShift>(four);
  }
}

// Scale bytes of sub-block `row`, one per lane, after the header's first vector.
template <class V>
RUV_INLINE const std::byte* scale_row(const std::byte* chunk, int row) {
  return chunk + (4 + row) * V::kLanes;
}

template <class V, DType kDType, class Packed, int kMaxCode, int kCodeOffset, int kScaleCount,
          bool kHasMins>
struct SuperFormat {
  using Layout = Packed;
  static constexpr DType kType = kDType;
  static constexpr int kMax = kMaxCode;
  static constexpr int kOffset = kCodeOffset;
  static constexpr int kScales = kScaleCount;
  static constexpr bool kMins = kHasMins;
  struct Opened {
    typename V::F d;
    typename V::F minus_dmin;
  };

  RUV_INLINE static Opened open(const std::byte* chunk) {
    if constexpr (kMins) {
      return {V::load_f16(chunk), V::sub(V::zero(), V::load_f16(chunk + 2 * V::kLanes))};
    } else {
      return {V::load(reinterpret_cast<const float*>(chunk)), V::zero()};
    }
  }

  RUV_INLINE static void unpack(const Opened& o, const std::byte* chunk, int b,
                                const std::byte* planes, Unpacked<V>& w) {
    if constexpr (kType == DType::q4_k || kType == DType::q5_k) {
      w.scale[0] = V::mul(o.d, V::from_u8(scale_row<V>(chunk, b)));
      w.minimum[0] = V::mul(o.minus_dmin, V::from_u8(scale_row<V>(chunk, 8 + b)));
      unpack_nibbles<V>(planes, w.codes);
      if constexpr (kType == DType::q5_k) unpack_bits<V, 16>(planes + 16 * V::kLanes, w.codes);
    } else if constexpr (kType == DType::iq4_xs) {
      w.scale[0] = V::mul(o.d, V::from_s8(scale_row<V>(chunk, b)));
      unpack_nibbles<V>(planes, w.codes);
      RUV_UNROLL
      for (int j = 0; j < 8; ++j) w.codes[j] = V::iq4_values(w.codes[j]);
    } else if constexpr (kType == DType::q6_k) {
      w.scale[0] = V::mul(o.d, V::from_s8(scale_row<V>(chunk, 2 * b)));
      w.scale[1] = V::mul(o.d, V::from_s8(scale_row<V>(chunk, 2 * b + 1)));
      unpack_nibbles<V>(planes, w.codes);
      typename V::B high[8];
      unpack_pairs<V, 4>(planes + 16 * V::kLanes, high);
      RUV_UNROLL
      for (int j = 0; j < 8; ++j) w.codes[j] = V::or_(w.codes[j], high[j]);
    } else if constexpr (kType == DType::q2_k) {
      RUV_UNROLL
      for (int h = 0; h < 2; ++h) {
        const std::byte* both = scale_row<V>(chunk, 2 * b + h);
        w.scale[h] = V::mul(o.d, V::from_u4(both, 0));
        w.minimum[h] = V::mul(o.minus_dmin, V::from_u4(both, 4));
      }
      unpack_pairs<V, 0>(planes, w.codes);
    } else {
      static_assert(kType == DType::q3_k);
      RUV_UNROLL
      for (int h = 0; h < 2; ++h) {
        const int s = 2 * b + h;
        const auto scale = V::from_six_bits(scale_row<V>(chunk, s % 8), s / 8 * 4,
                                            scale_row<V>(chunk, 8 + s % 4), s / 4 * 2);
        w.scale[h] = V::mul(o.d, V::sub(scale, V::set(32.0F)));
      }
      unpack_pairs<V, 0>(planes, w.codes);
      unpack_bits<V, 4>(planes + 8 * V::kLanes, w.codes);
    }
  }
};

template <class V>
using Q2K = SuperFormat<V, DType::q2_k, PackedQ2K, 3, 0, 2, true>;
template <class V>
using Q3K = SuperFormat<V, DType::q3_k, PackedQ3K, 7, 4, 2, false>;
template <class V>
using Q4K = SuperFormat<V, DType::q4_k, PackedQ4K, 15, 0, 1, true>;
template <class V>
using Q5K = SuperFormat<V, DType::q5_k, PackedQ5K, 31, 0, 1, true>;
template <class V>
using Q6K = SuperFormat<V, DType::q6_k, PackedQ6K, 63, 32, 2, false>;
template <class V>
using Iq4Xs = SuperFormat<V, DType::iq4_xs, PackedIq4Xs, V::kByteMax, V::kByteOffset, 1, false>;

template <class V, class F>
constexpr GemmKernel super_row() {
  return {F::kType,
          ActFormat::q8,
          V::kLanes,
          packed_super_bytes<F::kType, V::kLanes>,
          pack_super_group<F::kType, V::kLanes>,
          multiply_rows<V, F>};
}

}  // namespace
}  // namespace ruv
