// The dot products of gemm_panel.inc.h for instruction sets without one of four bytes. Products of
// unsigned codes add up in int16 for as many words as cannot overflow, then widen to int32. Integer
// sums are exact, so their order is free.
#pragma once

#include "kernels/generic/gemm_panel.inc.h"

namespace ruv {
namespace {

template <class V>
concept SumsPairs = V::kPairSums;

template <SumsPairs V, class F, int G, int R>
struct PanelDots<V, F, G, R> {
  template <int kBegin, int kEnd, int kFirst, int kSecond>
  RUV_INLINE static void sum(const PanelBlock<V, F, G>& w, const ActBlock* const* a,
                             typename V::I (&dot)[G][R]) {
    sum_words<kBegin, kEnd>(w, a, dot);
    if constexpr (kFirst != 0 || kSecond != 0) {
      RUV_UNROLL
      for (int r = 0; r < R; ++r) {
        const auto seed = V::template weigh_sums<kFirst, kSecond>(a[r]->half_sum);
        RUV_UNROLL
        for (int g = 0; g < G; ++g) dot[g][r] = V::add_ints(dot[g][r], seed);
      }
    }
  }

 private:
  // dot = Σ words [kBegin, kEnd) of the block.
  template <int kBegin, int kEnd>
  RUV_INLINE static void sum_words(const PanelBlock<V, F, G>& w, const ActBlock* const* a,
                                   typename V::I (&dot)[G][R]) {
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
};

}  // namespace
}  // namespace ruv
