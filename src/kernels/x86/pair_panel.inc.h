// The tile of gemm_panel.inc.h for instruction sets without a dot product of four bytes. Products
// of unsigned codes add up in int16 for as many words as cannot overflow, then widen to int32.
// Integer sums are exact, and the float operations are those of gemm_panel.inc.h in the same order.
#pragma once

#include "kernels/generic/gemm_panel.inc.h"

namespace ruv {
namespace {

template <class V>
concept SumsPairs = V::kPairSums;

template <SumsPairs V, class F, int G, int R>
struct PanelTile<V, F, G, R> {
  typename V::F acc[G][R];
  typename V::I dot[G][R];

  // dot = Σ words [kBegin, kEnd) of the block.
  template <int kBegin, int kEnd>
  RUV_INLINE void multiply(const PanelBlock<V, F, G>& w, const ActBlock* const* a) {
    static_assert(F::kMax > 0);
    constexpr int kWords = kEnd - kBegin;
    constexpr int kSafe = 32767 / (F::kMax * 2 * 128);
    constexpr int kStep = kSafe < kWords ? kSafe : kWords;
    static_assert(kWords % kStep == 0);
    RUV_UNROLL
    for (int first = kBegin; first < kEnd; first += kStep) {
      typename V::I pairs[G][R];
      RUV_UNROLL
      for (int i = 0; i < kStep; ++i) {
        const int j = first + i;
        RUV_UNROLL
        for (int r = 0; r < R; ++r) {
          const auto four = V::four_bytes(a[r]->q + 4 * j);
          RUV_UNROLL
          for (int g = 0; g < G; ++g) {
            const auto more = V::multiply_pairs(w.codes[j][g], four);
            pairs[g][r] = i == 0 ? more : V::add_pairs(pairs[g][r], more);
          }
        }
      }
      RUV_UNROLL
      for (int r = 0; r < R; ++r) {
        RUV_UNROLL
        for (int g = 0; g < G; ++g) {
          const auto sum = V::sum_pairs(pairs[g][r]);
          dot[g][r] = first == kBegin ? sum : V::add_ints(dot[g][r], sum);
        }
      }
    }
  }

  // What the offset of the codes takes off the sums of row r, added to every group's.
  template <int kFirst, int kSecond>
  RUV_INLINE void correct(const ActBlock* a, int r) {
    if constexpr (kFirst != 0 || kSecond != 0) {
      const auto sum = V::template weigh_sums<kFirst, kSecond>(a->half_sum);
      RUV_UNROLL
      for (int g = 0; g < G; ++g) dot[g][r] = V::add_ints(dot[g][r], sum);
    }
  }

  RUV_INLINE void add_block(const PanelBlock<V, F, G>& w, const ActBlock* const* a) {
    if constexpr (F::kScales == 1) {
      multiply<0, 8>(w, a);
      RUV_UNROLL
      for (int r = 0; r < R; ++r) {
        correct<-F::kOffset, -F::kOffset>(a[r], r);
        typename V::F sum;
        if constexpr (F::kMins) sum = V::from_int(V::template weigh_sums<1, 1>(a[r]->half_sum));
        RUV_UNROLL
        for (int g = 0; g < G; ++g) {
          auto t = V::mul(V::from_int(dot[g][r]), w.scale[0][g]);
          if constexpr (F::kMins) t = V::fma(w.minimum[0][g], sum, t);
          acc[g][r] = V::fma(t, V::set(a[r]->scale), acc[g][r]);
        }
      }
    } else {
      typename V::F t[G][R];
      multiply<0, 4>(w, a);
      RUV_UNROLL
      for (int r = 0; r < R; ++r) {
        correct<-F::kOffset, 0>(a[r], r);
        RUV_UNROLL
        for (int g = 0; g < G; ++g) t[g][r] = V::mul(V::from_int(dot[g][r]), w.scale[0][g]);
      }
      multiply<4, 8>(w, a);
      RUV_UNROLL
      for (int r = 0; r < R; ++r) {
        correct<0, -F::kOffset>(a[r], r);
        typename V::F sum[2];
        if constexpr (F::kMins) {
          sum[0] = V::from_int(V::template weigh_sums<1, 0>(a[r]->half_sum));
          sum[1] = V::from_int(V::template weigh_sums<0, 1>(a[r]->half_sum));
        }
        RUV_UNROLL
        for (int g = 0; g < G; ++g) {
          auto s = V::fma(V::from_int(dot[g][r]), w.scale[1][g], t[g][r]);
          if constexpr (F::kMins) {
            s = V::fma(w.minimum[0][g], sum[0], s);
            s = V::fma(w.minimum[1][g], sum[1], s);
          }
          acc[g][r] = V::fma(s, V::set(a[r]->scale), acc[g][r]);
        }
      }
    }
  }
};

}  // namespace
}  // namespace ruv
