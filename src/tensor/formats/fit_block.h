// The search of fit.h for formats without sub-blocks: one scale, or a scale and an offset of either
// sign, for the whole block. Used where the importance of the columns is known; without it these
// formats round as their standard does.
#pragma once

#include "tensor/formats/fit.h"

namespace ruv {

// The scale for a block of value = d · level, as f16 will hold it, with levels low..high. The
// targets are those of best_scale; the search also sees what f16 makes of the best scale's
// neighbours, a matter for blocks of many levels only.
template <int N>
float fit_block_scale(WholeLevels levels, const float* x, const float* importance, float reach,
                      int n_steps) {
  float w[N];
  error_weights<N>(x, importance, w);
  return through_f16(best_scale<N>(levels, x, w, reach, n_steps));
}

// value = d · level + m.
struct BlockLine {
  float d = 0.0F;
  float m = 0.0F;
};

template <int N>
float line_error(float top_level, const float* x, const float* w, BlockLine line) {
  const float inverse = inverse_or_zero(line.d);
  return lane_sum<N>([&](int i) {
    const Eight moved = load_eight(x + i) - line.m;
    const Eight off = moved - line.d * nearest_level(moved * inverse, top_level);
    return load_eight(w + i) * off * off;
  });
}

// The least-squares line through the levels that `line` gives; `line` where they determine none.
template <int N>
BlockLine solved_line(float top_level, const float* x, const float* w, BlockLine line) {
  const float inverse = inverse_or_zero(line.d);
  Eight sums[5] = {};  // of w, w l, w l², w x, w x l
  for (int i = 0; i < N; i += 8) {
    const Eight at = load_eight(x + i);
    const Eight weight = load_eight(w + i);
    const Eight level = nearest_level((at - line.m) * inverse, top_level);
    const Eight terms[5] = {weight, weight * level, weight * level * level, weight * at,
                            weight * at * level};
    for (int k = 0; k < 5; ++k) sums[k] = sums[k] + terms[k];
  }
  const float n = sum_of(sums[0]);
  const float l = sum_of(sums[1]);
  const float ll = sum_of(sums[2]);
  const float xs = sum_of(sums[3]);
  const float xl = sum_of(sums[4]);
  const float det = n * ll - l * l;
  if (!(det > 1e-6F * n * ll)) return line;
  return {(n * xl - l * xs) / det, (ll * xs - l * xl) / det};
}

// The line with the least error of those that start from the range of x, narrowed at either end in
// steps, and are solved twice.
template <int N>
BlockLine fit_line(float top_level, const float* x, const float* importance) {
  float w[N];
  error_weights<N>(x, importance, w);
  const auto [low, high] = extent_of(x, N);
  BlockLine best{through_f16((high - low) / top_level), through_f16(low)};
  float best_error = line_error<N>(top_level, x, w, best);
  constexpr int kSteps = 4;
  for (int step = 0; step < kSteps * kSteps; ++step) {
    const float cut_low = static_cast<float>(step % kSteps) * 0.5F;
    const float cut_high = static_cast<float>(step / kSteps) * 0.5F;
    const float d = (high - low) / (top_level + cut_low + cut_high);
    BlockLine line{d, low + cut_low * d};
    for (int round = 0; round < 2; ++round) {
      line = solved_line<N>(top_level, x, w, line);
      const BlockLine stored{through_f16(line.d), through_f16(line.m)};
      const float error = line_error<N>(top_level, x, w, stored);
      if (!(error < best_error)) continue;
      best_error = error;
      best = stored;
    }
  }
  return best;
}

}  // namespace ruv
