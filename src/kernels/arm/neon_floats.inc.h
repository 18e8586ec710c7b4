// Float matmul on NEON: multiply-adds by one lane of a vector, so that four steps along K share a
// load of each row's activations. Every output is the chain of multiply-adds of gemm_float.inc.h.
#pragma once

#include "kernels/arm/neon.inc.h"
#include "kernels/generic/gemm_float.inc.h"

namespace ruv {
namespace {

template <class V, class F, int R, int N>
requires(V::kMultipliesByLane) struct FloatSteps<V, F, R, N> {
  static constexpr int kVector = F::kLaneBytes * V::kLanes;
  static constexpr int kStep = kFloatVectors * kVector;

  RUV_INLINE static void add(const std::byte* w, int64_t ahead, const float* const (&x)[R], int64_t,
                             int64_t n, typename V::F (&acc)[R][N]) {
    int64_t k = 0;
    for (; k + 4 <= n; k += 4, w += 4 * kStep) {
      if constexpr (R <= 4 && F::kAsksAhead) {
        RUV_UNROLL
        for (int line = 0; line < 4 * kStep; line += 64) __builtin_prefetch(w + ahead + line);
      }
      float32x4_t four[R];
      RUV_UNROLL
      for (int r = 0; r < R; ++r) four[r] = vld1q_f32(x[r] + k);
      add_step<0>(w, four, acc);
      add_step<1>(w + kStep, four, acc);
      add_step<2>(w + 2 * kStep, four, acc);
      add_step<3>(w + 3 * kStep, four, acc);
    }
    for (; k < n; ++k, w += kStep) {
      float32x4_t one[R];
      RUV_UNROLL
      for (int r = 0; r < R; ++r) one[r] = vdupq_n_f32(x[r][k]);
      add_step<0>(w, one, acc);
    }
  }

 private:
  // acc += a step's weights times number kLane of each x[r].
  template <int kLane>
  RUV_INLINE static void add_step(const std::byte* w, const float32x4_t (&x)[R],
                                  typename V::F (&acc)[R][N]) {
    RUV_UNROLL
    for (int v = 0; v < N; ++v) {
      const auto weight = F::load(w + v * kVector);
      RUV_UNROLL
      for (int r = 0; r < R; ++r) {
        acc[r][v] = V::template fma_lane<kLane>(weight, x[r], acc[r][v]);
      }
    }
  }
};

}  // namespace
}  // namespace ruv
