// Float matmul on NEON: multiply-adds by one lane of a vector, so that four steps along K share a
// load of each row's activations. Every output is the chain of multiply-adds of gemm_float.inc.h.
#pragma once

#include "kernels/arm/neon.inc.h"
#include "kernels/generic/gemm_float.inc.h"

namespace ruv {
namespace {

// Step kStep of four: acc += its weights, kVector bytes apart, times that lane of four[r].
template <class V, class F, int kStep, int R, int N>
RUV_INLINE void add_float_step(const std::byte* w, const float32x4_t (&four)[R],
                               typename V::F (&acc)[R][N]) {
  RUV_UNROLL
  for (int v = 0; v < N; ++v) {
    const auto weight = F::load(w + v * F::kLaneBytes * V::kLanes);
    RUV_UNROLL
    for (int r = 0; r < R; ++r) {
      acc[r][v] = V::template fma_lane<kStep>(weight, four[r], acc[r][v]);
    }
  }
}

// Instead of that of gemm_float.inc.h.
template <class V, class F, int R, int N>
requires(V::kMultipliesByLane) void add_float_tile(const GemmArgs& args, const FloatStretch& s,
                                                   int64_t row) {
  constexpr int kStep = kFloatVectors * F::kLaneBytes * V::kLanes;
  float* const out = args.out + row * args.out_stride + s.group * kFloatVectors * V::kLanes;
  const int64_t n_lanes = args.n_cols - s.group * kFloatVectors * V::kLanes;
  const float* x[R];
  typename V::F acc[R][N];
  RUV_UNROLL
  for (int r = 0; r < R; ++r) {
    x[r] = reinterpret_cast<const float*>(s.act + (row + r) * args.act_stride);
    RUV_UNROLL
    for (int v = 0; v < N; ++v) {
      acc[r][v] = s.is_first ? V::zero()
                             : load_lanes<V>(out + r * args.out_stride + v * V::kLanes,
                                             n_lanes - v * V::kLanes);
    }
  }
  const std::byte* w = s.weights;
  int64_t k = 0;
  for (; k + 4 <= s.n_steps; k += 4, w += 4 * kStep) {
    if constexpr (R <= 4 && F::kAhead > 0) {
      RUV_UNROLL
      for (int line = 0; line < 4 * kStep; line += 64) __builtin_prefetch(w + F::kAhead + line);
    }
    float32x4_t four[R];
    RUV_UNROLL
    for (int r = 0; r < R; ++r) four[r] = vld1q_f32(x[r] + k);
    add_float_step<V, F, 0>(w, four, acc);
    add_float_step<V, F, 1>(w + kStep, four, acc);
    add_float_step<V, F, 2>(w + 2 * kStep, four, acc);
    add_float_step<V, F, 3>(w + 3 * kStep, four, acc);
  }
  for (; k < s.n_steps; ++k, w += kStep) {
    float32x4_t one[R];
    RUV_UNROLL
    for (int r = 0; r < R; ++r) one[r] = vdupq_n_f32(x[r][k]);
    add_float_step<V, F, 0>(w, one, acc);
  }
  RUV_UNROLL
  for (int r = 0; r < R; ++r) {
    RUV_UNROLL
    for (int v = 0; v < N; ++v) {
      store_lanes<V>(out + r * args.out_stride + v * V::kLanes, acc[r][v], n_lanes - v * V::kLanes);
    }
  }
}

}  // namespace
}  // namespace ruv
