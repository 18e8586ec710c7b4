// The search used by encoders of formats with sub-blocks: choose a super-block scale d, small
// integer scales and levels so that Σ weight · (x − decoded)² is small.
//
// Choosing all of them at once is a hard integer problem, so the search alternates:
//
//   1. For each sub-block alone, find the best real-valued scale (and minimum): try a number of
//      ranges, round the numbers to levels, and solve for the scale by least squares.
//   2. Pick d so that the largest real scale maps to the largest integer scale.
//   3. For each sub-block try the integer scales next to real / d; keep the one with the least
//      error.
//   4. Solve for d by least squares with the levels fixed, and repeat from 3 while the error falls,
//      at most three rounds.
//
// Errors are always those of the values that will be read back: d goes through f16 first. The cost
// is about n_steps passes over the numbers in step 1 and up to 27 in step 3; raising n_steps makes
// encoding proportionally slower for a slightly smaller error.
//
// ScaledFit serves formats with value = d · scale · level (Q3_K, Q6_K, IQ4), OffsetFit those with
// value = d · scale · level − dmin · min (Q2_K, Q4_K, Q5_K), where steps 1 and 4 solve for two
// unknowns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tensor/formats/block.h"
#include "tensor/formats/eight.h"

namespace ruv {

// x as it will be read back from f16; values beyond its range become the greatest finite one.
inline float through_f16(float x) {
  return f32_from_f16(f16_from_f32(std::clamp(x, -65504.0F, 65504.0F)));
}

// The nearest whole number, ties to even. Adding 1.5 · 2^23 pushes the fraction out of the
// mantissa. Requires: |x| < 2^22.
inline float nearest_whole(float x) {
  constexpr float kMagic = 12582912.0F;  // 1.5 · 2^23: the sum's last bit has the value 1
  return (x + kMagic) - kMagic;
}

inline Eight nearest_whole(Eight x) {
  constexpr float kMagic = 12582912.0F;
  return (x + kMagic) - kMagic;
}

// Σ term(i) for i < N, where term(i) has numbers i to i + 7: a fixed order of additions, so every
// machine gets the same sum.
template <int N, class Term>
float lane_sum(Term term) {
  Eight sum = all_eight(0.0F);
  for (int i = 0; i < N; i += 8) sum = sum + term(i);
  return sum_of(sum);
}

// The whole numbers low..high as levels. A Levels type has low, high and nearest(); see
// UnevenLevels in iq4.cpp for one that is not evenly spaced.
struct WholeLevels {
  float low;
  float high;
  float nearest(float x) const {
    // Clamping first keeps x in the range nearest_whole is right for.
    return nearest_whole(std::min(std::max(x, low), high));
  }
  Eight nearest(Eight x) const { return nearest_whole(min_of(max_of(x, low), high)); }
};

// Σ w · (x − scale · level)², each number at its nearest level.
template <int N, class Levels>
float scaled_error(const Levels& levels, const float* x, const float* w, float scale) {
  const float inverse = inverse_or_zero(scale);
  return lane_sum<N>([&](int i) {
    const Eight at = load_eight(x + i);
    const Eight off = at - scale * levels.nearest(at * inverse);
    return load_eight(w + i) * off * off;
  });
}

// The real scale with the least error. For each target the extreme number is mapped to it, levels
// are chosen, and the scale is solved by least squares: Σ w x l / Σ w l². Targets run over the
// lowest and the highest level, each times 1 − reach to 1 + reach in n_steps.
template <int N, class Levels>
float best_scale(const Levels& levels, const float* x, const float* w, float reach, int n_steps) {
  const float top = extreme(x, N);
  if (std::fabs(top) < 1e-20F) return 0.0F;
  float wx[N];
  for (int i = 0; i < N; i += 8) store_eight(wx + i, load_eight(w + i) * load_eight(x + i));
  float best = 0.0F;
  float best_gain = -1.0F;
  for (int step = 0; step < 2 * n_steps; ++step) {
    const float end = (step & 1) != 0 ? levels.high : levels.low;
    const float part = static_cast<float>(step / 2) / static_cast<float>(n_steps - 1);
    const float inverse = end * (1.0F - reach + 2.0F * reach * part) / top;
    Eight xl_sum = all_eight(0.0F);
    Eight ll_sum = all_eight(0.0F);
    for (int i = 0; i < N; i += 8) {
      const Eight level = levels.nearest(load_eight(x + i) * inverse);
      xl_sum = xl_sum + load_eight(wx + i) * level;
      ll_sum = ll_sum + load_eight(w + i) * level * level;
    }
    const float xl = sum_of(xl_sum);
    const float ll = sum_of(ll_sum);
    if (ll > 0.0F && xl * xl > best_gain * ll) {
      best_gain = xl * xl / ll;
      best = xl / ll;
    }
  }
  return best;
}

// A super-block of value = d · scale[s] · level.
template <int kSubBlocks>
struct ScaledFit {
  float d = 0.0F;
  int scales[kSubBlocks] = {};
  float error = INFINITY;
};

// Parameters of the search for a format with scales only.
template <class Levels>
struct ScaledSearch {
  Levels levels;
  int scale_low;  // integer scales are scale_low..scale_high
  int scale_high;
  float reach;  // see best_scale
  int n_steps;
};

// The best integer scales for a given d, each within 1 of the scale wished for. `real` are those.
template <int kSubBlocks, class Levels>
ScaledFit<kSubBlocks> round_scales(const ScaledSearch<Levels>& search, const float* x,
                                   const float* w, const float* real, float d) {
  constexpr int N = kSuperBlock / kSubBlocks;
  ScaledFit<kSubBlocks> fit;
  fit.d = through_f16(d);
  fit.error = 0.0F;
  const float inverse = inverse_or_zero(fit.d);
  for (int s = 0; s < kSubBlocks; ++s) {
    const float wish = std::clamp(real[s] * inverse, static_cast<float>(search.scale_low),
                                  static_cast<float>(search.scale_high));
    const int centre = static_cast<int>(nearest_whole(wish));
    float best = INFINITY;
    for (int scale = std::max(centre - 1, search.scale_low);
         scale <= std::min(centre + 1, search.scale_high); ++scale) {
      const float error =
          scaled_error<N>(search.levels, x + N * s, w + N * s, fit.d * static_cast<float>(scale));
      if (error < best) {
        best = error;
        fit.scales[s] = scale;
      }
    }
    fit.error += best;
  }
  return fit;
}

// d by least squares for the levels a fit chooses.
template <int kSubBlocks, class Levels>
float solved_d(const Levels& levels, const float* x, const float* w,
               const ScaledFit<kSubBlocks>& fit) {
  constexpr int N = kSuperBlock / kSubBlocks;
  float xl = 0.0F;
  float ll = 0.0F;
  for (int s = 0; s < kSubBlocks; ++s) {
    const auto scale = static_cast<float>(fit.scales[s]);
    const float inverse = inverse_or_zero(fit.d * scale);
    const float* xs = x + N * s;
    const float* ws = w + N * s;
    float units[N];
    for (int i = 0; i < N; i += 8) {
      store_eight(units + i, scale * levels.nearest(load_eight(xs + i) * inverse));
    }
    xl += lane_sum<N>(
        [&](int i) { return load_eight(ws + i) * load_eight(xs + i) * load_eight(units + i); });
    ll += lane_sum<N>(
        [&](int i) { return load_eight(ws + i) * load_eight(units + i) * load_eight(units + i); });
  }
  return ll > 0.0F ? xl / ll : fit.d;
}

// Fits one super-block; see the top of the file. Tries both ends of the scale range for the largest
// scale, since signed scales reach one further on the negative side.
template <int kSubBlocks, class Levels>
ScaledFit<kSubBlocks> fit_scaled(const ScaledSearch<Levels>& search, const float* x,
                                 const float* w) {
  constexpr int N = kSuperBlock / kSubBlocks;
  float real[kSubBlocks];
  for (int s = 0; s < kSubBlocks; ++s) {
    real[s] = best_scale<N>(search.levels, x + N * s, w + N * s, search.reach, search.n_steps);
  }
  const float top = extreme(real, kSubBlocks);
  ScaledFit<kSubBlocks> best;
  for (const int end : {search.scale_low, search.scale_high}) {
    float d = top / static_cast<float>(end);
    for (int round = 0; round < 3; ++round) {
      const auto fit = round_scales<kSubBlocks>(search, x, w, real, d);
      if (!(fit.error < best.error)) break;
      best = fit;
      d = solved_d<kSubBlocks>(search.levels, x, w, fit);
    }
  }
  return best;
}

// A super-block of value = d · scale[s] · level − dmin · min[s], levels 0..top_level.
template <int kSubBlocks>
struct OffsetFit {
  float d = 0.0F;
  float dmin = 0.0F;
  int scales[kSubBlocks] = {};
  int mins[kSubBlocks] = {};
  float error = INFINITY;
};

// Parameters of the search for a format with scales and minima; both are integers 0..top_scale.
struct OffsetSearch {
  float top_level;
  int top_scale;
  float first_step;  // the range of a sub-block is laid on top_level + first_step …
  float step;        // … + i · step levels, i < n_steps
  int n_steps;
  int n_zero_ranges = 0;  // at most 2: see level_range
};

// x ≈ scale · level − min.
struct ScaleAndMin {
  float scale = 0.0F;
  float min = 0.0F;
};

inline float nearest_level(float x, float top_level) {
  return nearest_whole(std::min(std::max(x, 0.0F), top_level));
}
inline Eight nearest_level(Eight x, float top_level) {
  return nearest_whole(min_of(max_of(x, 0.0F), top_level));
}

template <int N>
float offset_error(float top_level, const float* x, const float* w, ScaleAndMin real) {
  const float inverse = inverse_or_zero(real.scale);
  return lane_sum<N>([&](int i) {
    const Eight moved = load_eight(x + i) + real.min;
    const Eight off = moved - real.scale * nearest_level(moved * inverse, top_level);
    return load_eight(w + i) * off * off;
  });
}

// Sums of a least-squares problem in (scale, min): x ≈ scale · a − min · b.
struct OffsetSums {
  float aa = 0.0F, ab = 0.0F, bb = 0.0F, xa = 0.0F, xb = 0.0F;
  // The least-squares solution with both unknowns ≥ 0; without a minimum where that is not
  // possible; `fallback` where the sums determine nothing.
  ScaleAndMin solved(ScaleAndMin fallback) const {
    const float det = aa * bb - ab * ab;
    if (det > 1e-6F * aa * bb) {
      const ScaleAndMin both{(xa * bb - xb * ab) / det, (xa * ab - xb * aa) / det};
      if (both.min >= 0.0F && both.scale >= 0.0F) return both;
    }
    if (aa > 0.0F && xa > 0.0F) return {xa / aa, 0.0F};
    return fallback;
  }
  // How much a solution lowers the error: Σ w x² minus its error. Larger is better.
  float gain(ScaleAndMin s) const {
    return 2.0F * (s.scale * xa - s.min * xb) - s.scale * s.scale * aa +
           2.0F * s.scale * s.min * ab - s.min * s.min * bb;
  }
};

// How numbers become levels while a range is tried: (x − from) · inverse.
struct LevelRange {
  float from;
  float inverse;
};

// The ranges of a search: n_steps from the least number on, then n_zero_ranges in which 0 is a
// level itself and the greatest number the top one. The latter suit a few large numbers among many
// near 0, which would else lie between two levels. Requires: low <= 0, low < high.
inline LevelRange level_range(const OffsetSearch& search, float low, float high, int step) {
  if (step < search.n_steps) {
    const float span =
        search.top_level + search.first_step + search.step * static_cast<float>(step);
    return {low, span / (high - low)};
  }
  const float zero = std::floor(-low * search.top_level / (high - low)) +
                     static_cast<float>(step - search.n_steps);
  if (!(high > 1e-20F) || zero >= search.top_level) return {low, search.top_level / (high - low)};
  const float inverse = (search.top_level - zero) / high;
  return {-zero / inverse, inverse};
}

// The real scale and minimum with the least error, over all ranges. Every range includes 0: minima
// are subtracted and cannot be negative.
template <int N>
ScaleAndMin best_scale_and_min(const OffsetSearch& search, const float* x, const float* w) {
  auto [low, high] = extent_of(x, N);
  low = std::min(low, 0.0F);
  ScaleAndMin best{(high - low) / search.top_level, -low};
  if (high - low < 1e-20F) return {0.0F, -low};
  OffsetSums sums;
  sums.bb = lane_sum<N>([&](int i) { return load_eight(w + i); });
  sums.xb = lane_sum<N>([&](int i) { return load_eight(w + i) * load_eight(x + i); });
  float best_gain = -INFINITY;
  for (int step = 0; step < search.n_steps + search.n_zero_ranges; ++step) {
    const LevelRange range = level_range(search, low, high, step);
    Eight aa = all_eight(0.0F);
    Eight ab = all_eight(0.0F);
    Eight xa = all_eight(0.0F);
    for (int i = 0; i < N; i += 8) {
      const Eight at = load_eight(x + i);
      const Eight level = nearest_level((at - range.from) * range.inverse, search.top_level);
      const Eight wl = load_eight(w + i) * level;
      aa = aa + wl * level;
      ab = ab + wl;
      xa = xa + wl * at;
    }
    sums.aa = sum_of(aa);
    sums.ab = sum_of(ab);
    sums.xa = sum_of(xa);
    const ScaleAndMin solved = sums.solved(best);
    const float gain = sums.gain(solved);
    if (gain > best_gain) {
      best_gain = gain;
      best = solved;
    }
  }
  return best;
}

// The best integer pairs for given d and dmin, each number within 1 of the wish: 9 pairs are tried.
template <int kSubBlocks>
OffsetFit<kSubBlocks> round_pairs(const OffsetSearch& search, const float* x, const float* w,
                                  const ScaleAndMin* real, ScaleAndMin units) {
  constexpr int N = kSuperBlock / kSubBlocks;
  OffsetFit<kSubBlocks> fit;
  fit.d = through_f16(units.scale);
  fit.dmin = through_f16(units.min);
  fit.error = 0.0F;
  const auto centre = [&](float wish, float unit) {
    const float scaled =
        std::min(wish * inverse_or_zero(unit), static_cast<float>(search.top_scale));
    return static_cast<int>(nearest_whole(std::max(scaled, 0.0F)));
  };
  for (int s = 0; s < kSubBlocks; ++s) {
    const int scale_at = centre(real[s].scale, fit.d);
    const int min_at = centre(real[s].min, fit.dmin);
    float best = INFINITY;
    for (int pair = 0; pair < 9; ++pair) {
      const int scale = std::clamp(scale_at + pair / 3 - 1, 0, search.top_scale);
      const int min = std::clamp(min_at + pair % 3 - 1, 0, search.top_scale);
      const float error =
          offset_error<N>(search.top_level, x + N * s, w + N * s,
                          {fit.d * static_cast<float>(scale), fit.dmin * static_cast<float>(min)});
      if (error < best) {
        best = error;
        fit.scales[s] = scale;
        fit.mins[s] = min;
      }
    }
    fit.error += best;
  }
  return fit;
}

// d and dmin by least squares for the levels a fit chooses.
template <int kSubBlocks>
ScaleAndMin solved_units(const OffsetSearch& search, const float* x, const float* w,
                         const OffsetFit<kSubBlocks>& fit) {
  constexpr int N = kSuperBlock / kSubBlocks;
  OffsetSums sums;
  for (int s = 0; s < kSubBlocks; ++s) {
    const auto scale = static_cast<float>(fit.scales[s]);
    const auto min = static_cast<float>(fit.mins[s]);
    const float inverse = inverse_or_zero(fit.d * scale);
    const float* xs = x + N * s;
    const float* ws = w + N * s;
    float a[N];
    for (int i = 0; i < N; i += 8) {
      const Eight moved = load_eight(xs + i) + fit.dmin * min;
      store_eight(a + i, scale * nearest_level(moved * inverse, search.top_level));
    }
    const auto weight = [&](int i) { return load_eight(ws + i); };
    const auto weighed = [&](int i) { return load_eight(ws + i) * load_eight(xs + i); };
    sums.aa +=
        lane_sum<N>([&](int i) { return weight(i) * load_eight(a + i) * load_eight(a + i); });
    sums.ab += min * lane_sum<N>([&](int i) { return weight(i) * load_eight(a + i); });
    sums.bb += min * min * lane_sum<N>(weight);
    sums.xa += lane_sum<N>([&](int i) { return weighed(i) * load_eight(a + i); });
    sums.xb += min * lane_sum<N>(weighed);
  }
  return sums.solved({fit.d, fit.dmin});
}

// Fits one super-block; see the top of the file.
template <int kSubBlocks>
OffsetFit<kSubBlocks> fit_offset(const OffsetSearch& search, const float* x, const float* w) {
  constexpr int N = kSuperBlock / kSubBlocks;
  ScaleAndMin real[kSubBlocks];
  ScaleAndMin units;
  for (int s = 0; s < kSubBlocks; ++s) {
    real[s] = best_scale_and_min<N>(search, x + N * s, w + N * s);
    units.scale = std::max(units.scale, real[s].scale);
    units.min = std::max(units.min, real[s].min);
  }
  units.scale /= static_cast<float>(search.top_scale);
  units.min /= static_cast<float>(search.top_scale);
  OffsetFit<kSubBlocks> best;
  for (int round = 0; round < 3; ++round) {
    const auto fit = round_pairs<kSubBlocks>(search, x, w, real, units);
    if (!(fit.error < best.error)) break;
    best = fit;
    units = solved_units<kSubBlocks>(search, x, w, fit);
  }
  return best;
}

// How much an error at each of N numbers counts: |x| plus the root mean square of all, since large
// weights move a dot product most. docs/journal has the comparison with even weights. Importance
// multiplies that; only its proportions within the N numbers matter. N numbers of no importance are
// weighed as without it.
template <int N>
void error_weights(const float* x, const float* importance, float* w) {
  const float squares = lane_sum<N>([&](int i) { return load_eight(x + i) * load_eight(x + i); });
  const float rms = std::sqrt(squares / static_cast<float>(N));
  for (int i = 0; i < N; ++i) w[i] = rms + std::fabs(x[i]);
  const float top = importance == nullptr ? 0.0F : *std::max_element(importance, importance + N);
  if (!(top > 0.0F)) return;
  // Columns of no importance keep a trace of weight, so that their numbers are sane.
  for (int i = 0; i < N; ++i) w[i] *= std::max(importance[i] / top, 1e-6F);
}

}  // namespace ruv
