// The NEON vector policy with matrix instructions (I8MM): smmla multiplies eight numbers of two
// weight rows by eight of two activation rows, twice the products of a dot instruction. Weights
// stay packed as for NEON; a panel interleaves two words of every lane as it is unpacked.
#pragma once

#include "kernels/arm/neon.inc.h"
#include "kernels/generic/gemm_panel.inc.h"

namespace ruv {
namespace {

// Eight numbers of eight lanes, two lanes to a register.
struct LanePairs {
  int8x16_t two[4];
};

struct NeonI8mm : Neon {
  static constexpr bool kLanePairs = true;
  static constexpr int kPanelFromRows = 8;

  // Words j and j + 1 of a block, side by side in every lane.
  RUV_INLINE static LanePairs pair_words(B even, B odd) {
    return {zip_low(even.lo, odd.lo), zip_high(even.lo, odd.lo), zip_low(even.hi, odd.hi),
            zip_high(even.hi, odd.hi)};
  }
  // dot += the products of words [kBegin, kEnd) of G groups and R rows. Exact.
  template <int kBegin, int kEnd, int G, int R>
  RUV_INLINE static void add_products(const LanePairs (&codes)[4][G], const ActBlock* const* a,
                                      I (&dot)[G][R]) {
    constexpr int kPairs = (R + 1) / 2;  // of rows; a last row alone stands for two
    int32x4_t sums[G][kPairs][4];
    RUV_UNROLL
    for (int j = kBegin / 2; j < kEnd / 2; ++j) {
      int8x16_t act[kPairs];
      RUV_UNROLL
      for (int i = 0; i < kPairs; ++i) {
        const int second = 2 * i + 1 < R ? 2 * i + 1 : 2 * i;
        act[i] = vcombine_s8(vld1_s8(a[2 * i]->q + 8 * j), vld1_s8(a[second]->q + 8 * j));
      }
      RUV_UNROLL
      for (int g = 0; g < G; ++g) {
        RUV_UNROLL
        for (int l = 0; l < 4; ++l) {
          RUV_UNROLL
          for (int i = 0; i < kPairs; ++i) {
            const int32x4_t sum = j == kBegin / 2 ? vdupq_n_s32(0) : sums[g][i][l];
            sums[g][i][l] = vmmlaq_s32(sum, codes[j][g].two[l], act[i]);
          }
        }
      }
    }
    RUV_UNROLL
    for (int g = 0; g < G; ++g) {
      RUV_UNROLL
      for (int r = 0; r < R; ++r) dot[g][r] = add_row(dot[g][r], sums[g][r / 2], r % 2);
    }
  }

  static int64_t int8_peak(int64_t rounds, int32_t* sink) {
    int32x4_t acc[8];
    for (int i = 0; i < 8; ++i) acc[i] = vdupq_n_s32(*sink + i);
    const int8x16_t a = vdupq_n_s8(static_cast<int8_t>(*sink | 3));
    for (int64_t round = 0; round < rounds; ++round) {
      RUV_UNROLL
      for (int i = 0; i < 8; ++i) acc[i] = vmmlaq_s32(acc[i], a, vreinterpretq_s8_s32(acc[i]));
    }
    for (int i = 0; i < 8; ++i) *sink ^= vaddvq_s32(acc[i]);
    return rounds * 8 * 32;
  }

 private:
  RUV_INLINE static int8x16_t zip_low(uint8x16_t even, uint8x16_t odd) {
    return vreinterpretq_s8_u32(vzip1q_u32(vreinterpretq_u32_u8(even), vreinterpretq_u32_u8(odd)));
  }
  RUV_INLINE static int8x16_t zip_high(uint8x16_t even, uint8x16_t odd) {
    return vreinterpretq_s8_u32(vzip2q_u32(vreinterpretq_u32_u8(even), vreinterpretq_u32_u8(odd)));
  }
  // A register holds (lane, row) as (0,0) (0,1) (1,0) (1,1): one row of every lane.
  RUV_INLINE static I add_row(I dot, const int32x4_t (&sums)[4], int odd) {
    const int32x4_t lo = odd == 0 ? vuzp1q_s32(sums[0], sums[1]) : vuzp2q_s32(sums[0], sums[1]);
    const int32x4_t hi = odd == 0 ? vuzp1q_s32(sums[2], sums[3]) : vuzp2q_s32(sums[2], sums[3]);
    return {vaddq_s32(dot.lo, lo), vaddq_s32(dot.hi, hi)};
  }
};

template <class V, class F, int G>
requires(V::kLanePairs) struct PanelBlock<V, F, G> {
  LanePairs codes[4][G];
  typename V::F scale[F::kScales][G];
  typename V::F minimum[F::kMins ? F::kScales : 1][G];

  RUV_INLINE void set_codes(const Unpacked<V>& w, int g) {
    RUV_UNROLL
    for (int j = 0; j < 4; ++j) codes[j][g] = V::pair_words(w.codes[2 * j], w.codes[2 * j + 1]);
  }
};

}  // namespace
}  // namespace ruv
