// Weights that stand for a few levels, for gemm_int8.inc.h: codebooks (iq1_s … iq3_s), ternary
// digits and four-bit floats. A code of up to four bits is looked up in a table of 16 bytes, which
// one shuffle does for a whole vector; levels are integers, moved up by an offset that products
// take off again.
#pragma once

#include "kernels/generic/superblocks.inc.h"

namespace ruv {
namespace {

// Code: digit, and 4 where it is moved down. Level: 8 · (digit − 1) ± 1.
struct MovedDigitLevels {
  static constexpr int kMax = 18;
  static constexpr int kOffset = 9;
  static constexpr uint8_t kLevels[16] = {2, 10, 18, 0, 0, 8, 16, 0};
};
// Code: index of 8, 25, 43, and 4 for minus.
struct Iq2Levels {
  static constexpr int kMax = 86;
  static constexpr int kOffset = 43;
  static constexpr uint8_t kLevels[16] = {51, 68, 86, 43, 35, 18, 0, 43};
};
// Code: index of 4, 12, 20, 28, 36, 44, 52, 62, and 8 for minus.
struct Iq3XxsLevels {
  static constexpr int kMax = 124;
  static constexpr int kOffset = 62;
  static constexpr uint8_t kLevels[16] = {66, 74, 82, 90, 98, 106, 114, 124,
                                          58, 50, 42, 34, 26, 18,  10,  0};
};
// Code: index of 1, 3, … 15, and 8 for minus.
struct Iq3SLevels {
  static constexpr int kMax = 30;
  static constexpr int kOffset = 15;
  static constexpr uint8_t kLevels[16] = {16, 18, 20, 22, 24, 26, 28, 30,
                                          14, 12, 10, 8,  6,  4,  2,  0};
};
// Code: a four-bit float E2M1. Level: twice its value. The greatest is 24; with 30 as many products
// are added up in 16 bits as divide a block.
struct E2m1Levels {
  static constexpr int kMax = 30;
  static constexpr int kOffset = 12;
  static constexpr uint8_t kLevels[16] = {12, 13, 14, 15, 16, 18, 20, 24,
                                          12, 11, 10, 9,  8,  6,  4,  0};
};

template <class V, class Levels>
RUV_INLINE void look_up(typename V::B* codes) {
  RUV_UNROLL
  for (int j = 0; j < 8; ++j) codes[j] = V::template look_up<Levels>(codes[j]);
}

// 256 numbers: one d, kScaleCount · 8 scales of a byte, codes of three or four bits.
template <class V, DType kDType, class Packed, class Levels, int kScaleCount>
struct CodebookFormat {
  using Layout = Packed;
  static constexpr DType kType = kDType;
  static constexpr int kMax = Levels::kMax;
  static constexpr int kOffset = Levels::kOffset;
  static constexpr int kScales = kScaleCount;
  static constexpr bool kMins = false;
  struct Opened {
    typename V::F d;
  };

  RUV_INLINE static Opened open(const std::byte* chunk) {
    return {V::load(reinterpret_cast<const float*>(chunk))};
  }
  RUV_INLINE static void unpack(const Opened& o, const std::byte* chunk, int b,
                                const std::byte* planes, Unpacked<V>& w) {
    RUV_UNROLL
    for (int h = 0; h < kScales; ++h) {
      w.scale[h] = V::mul(o.d, V::from_u8(scale_row<V>(chunk, kScales * b + h)));
    }
    if constexpr (Layout::kBlockVectors == 4) {
      unpack_nibbles<V>(planes, w.codes);
    } else {
      unpack_pairs<V, 0>(planes, w.codes);
      unpack_bits<V, 4>(planes + 8 * V::kLanes, w.codes);
    }
    look_up<V, Levels>(w.codes);
  }
};

// Digits 0 to 2 under one d, and for iq1_s under a scale of 32 numbers whose sign says where an
// eighth of it moves them.
template <class V, DType kDType, class Packed>
struct DigitFormat {
  using Layout = Packed;
  static constexpr DType kType = kDType;
  static constexpr int kMax = 3;
  static constexpr int kOffset = 1;
  static constexpr int kScales = 1;
  static constexpr bool kMins = kDType == DType::iq1_s;
  struct Opened {
    typename V::F d;
  };

  RUV_INLINE static Opened open(const std::byte* chunk) {
    return {V::load(reinterpret_cast<const float*>(chunk))};
  }
  RUV_INLINE static void unpack(const Opened& o, const std::byte* chunk, int b,
                                const std::byte* planes, Unpacked<V>& w) {
    if constexpr (kMins) {
      const auto scale = V::from_s8(scale_row<V>(chunk, b));
      w.scale[0] = V::mul(o.d, V::abs(scale));
      w.minimum[0] = V::mul(o.d, V::mul(scale, V::set(0.125F)));
    } else {
      w.scale[0] = o.d;
    }
    unpack_pairs<V, 0>(planes, w.codes);
  }
};

// Four-bit floats, 32 numbers.
template <class V, DType kDType, class Packed, int kScaleCount>
struct SmallFloatFormat {
  using Layout = Packed;
  static constexpr DType kType = kDType;
  static constexpr int kMax = E2m1Levels::kMax;
  static constexpr int kOffset = E2m1Levels::kOffset;
  static constexpr int kScales = kScaleCount;
  static constexpr bool kMins = false;

  RUV_INLINE static NothingOpened open(const std::byte*) { return {}; }
  RUV_INLINE static void unpack(NothingOpened, const std::byte* chunk, int b,
                                const std::byte* planes, Unpacked<V>& w) {
    if constexpr (kType == DType::mxfp4) {
      // The exponent's bits are 2^(e − 128); 0 stands for 2^-127, which is subnormal.
      w.scale[0] = V::max(V::template from_bits<23>(chunk + b * V::kLanes), V::set(0x1p-127F));
    } else if constexpr (kType == DType::nvfp4) {
      // As bits of a float32 the scale's exponent is 120 too small; halved, as levels are doubled.
      RUV_UNROLL
      for (int h = 0; h < 2; ++h) {
        const auto bits = V::template from_bits<20>(chunk + (2 * b + h) * V::kLanes);
        w.scale[h] = V::mul(bits, V::set(0x1p119F));
      }
    } else {
      static_assert(kType == DType::e2m1);
      RUV_UNROLL
      for (int h = 0; h < 2; ++h) {
        w.scale[h] = V::load(reinterpret_cast<const float*>(chunk) + h * V::kLanes);
      }
    }
    unpack_nibbles<V>(planes, w.codes);
    look_up<V, E2m1Levels>(w.codes);
  }
};

template <class V, class F>
constexpr GemmKernel codebook_row() {
  return {F::kType,
          ActFormat::q8,
          V::kLanes,
          packed_codebook_bytes<F::kType, V::kLanes>,
          pack_codebook_group<F::kType, V::kLanes>,
          multiply_rows<V, F>};
}

constexpr int kCodebookRows = 12;

// Every row of the formats above.
template <class V>
constexpr std::array<GemmKernel, kCodebookRows> codebook_rows() {
  return {{
      codebook_row<V, DigitFormat<V, DType::iq1_s, PackedIq1S>>(),
      codebook_row<V, CodebookFormat<V, DType::iq1_m, PackedIq2, MovedDigitLevels, 2>>(),
      codebook_row<V, CodebookFormat<V, DType::iq2_xxs, PackedIq2Xxs, Iq2Levels, 1>>(),
      codebook_row<V, CodebookFormat<V, DType::iq2_xs, PackedIq2, Iq2Levels, 2>>(),
      codebook_row<V, CodebookFormat<V, DType::iq2_s, PackedIq2, Iq2Levels, 2>>(),
      codebook_row<V, CodebookFormat<V, DType::iq3_xxs, PackedIq3, Iq3XxsLevels, 1>>(),
      codebook_row<V, CodebookFormat<V, DType::iq3_s, PackedIq3, Iq3SLevels, 1>>(),
      codebook_row<V, DigitFormat<V, DType::tq1_0, PackedTernary>>(),
      codebook_row<V, DigitFormat<V, DType::tq2_0, PackedTernary>>(),
      codebook_row<V, SmallFloatFormat<V, DType::mxfp4, PackedMxfp4, 1>>(),
      codebook_row<V, SmallFloatFormat<V, DType::nvfp4, PackedNvfp4, 2>>(),
      codebook_row<V, SmallFloatFormat<V, DType::e2m1, PackedE2m1, 2>>(),
  }};
}

}  // namespace
}  // namespace ruv
