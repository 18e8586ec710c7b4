// The search of the encoders whose numbers come from codebooks: value = d · (2 · scale + 1) ·
// level, where the levels of 8 or 4 numbers together are an entry of the codebook. It follows the
// steps of fit.h; what differs is how the levels for a given scale are found.
//
// An entry is four nibbles, and its error at scale s is, but for a constant,
//
//   s² · Σ w l² − 2 s · Σ w x l
//
// where both sums run over its numbers, so each nibble adds a term of its own. Moments has both
// sums for every value of every nibble, once for all scales. At one scale the numbers are rounded
// to levels; if the codebook has that point it is the best entry, else the few that GridIndex lists
// for the point are compared at four additions each.
//
// A Kind says what a format is:
//
//   kDigits, kLevels   numbers in an entry, levels of a number
//   kGroup, kTopScale  numbers that share a scale, and the greatest scale
//   kShifts            sets of levels to choose from; of two, kShiftPerEntry says that each
//                      entry chooses, not each group
//   kLevel[shift][l]   the levels
//   kFirst, kStep      scales to try: the greatest number at kFirst + i · kStep,
//   kSteps             i < kSteps
//   kFewNear, kNear    entries compared while scales are searched, and at last (GridIndex)
//   kRounds            how often d is solved for and scales are rounded anew
//
// The cost is about kSteps + 1 + 2 · kRounds choices of entries for each number and shift.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "tensor/formats/fit.h"
#include "tensor/formats/grid_index.h"

namespace ruv {

// The sums of one entry's numbers for each value of its nibbles, in the units of the numbers.
template <class Kind>
struct GridMoments {
  static constexpr int kValues = Kind::kDigits == 8 ? 12 : 8;  // nibbles are below
  float ll[4][kValues];
  float xl[4][kValues];

  void set(const float* level, const float* x, const float* w) {
    for (int nibble = 0; nibble < 4; ++nibble) {
      for (int value = 0; value < kValues; ++value) {
        if constexpr (Kind::kDigits == 4) {
          const float wl = w[nibble] * level[value];
          ll[nibble][value] = wl * level[value];
          xl[nibble][value] = wl * x[nibble];
        } else {
          const int low = std::min(value & 3, 2);  // 3 is in no entry
          const float a = w[2 * nibble] * level[low];
          const float b = w[2 * nibble + 1] * level[value >> 2];
          ll[nibble][value] = a * level[low] + b * level[value >> 2];
          xl[nibble][value] = a * x[2 * nibble] + b * x[2 * nibble + 1];
        }
      }
    }
  }
};

// Σ w l² and Σ w x l of some chosen entries.
struct GridSums {
  float ll = 0.0F;
  float xl = 0.0F;
  // The error at a scale, less Σ w x².
  float error(float scale) const { return scale * (scale * ll - 2.0F * xl); }
};

struct GridPick {
  uint16_t entry = 0;
  uint8_t shift = 0;
};

// A super-block as it will be written.
template <class Kind>
struct GridFit {
  float d = 0.0F;
  int scales[kSuperBlock / Kind::kGroup] = {};
  GridPick picks[kSuperBlock / Kind::kDigits] = {};
  float error = INFINITY;
};

template <class Kind>
class GridSearch {
 public:
  static constexpr int kEntriesOfGroup = Kind::kGroup / Kind::kDigits;
  static constexpr int kGroups = kSuperBlock / Kind::kGroup;

  GridSearch(std::span<const uint16_t> entries, const GridIndex& index)
      : entries_(entries), index_(index) {}

  // Fits one super-block. Where a format has signs of its own, x is without them.
  GridFit<Kind> fit(const float* x, const float* w);

 private:
  struct Entry {
    GridMoments<Kind> moments[Kind::kShifts];
  };

  GridSums choose(int entry, int shift, int point, float scale, int n_near, GridPick& pick) const;
  GridSums choose_group(int group, int shift, float scale, int n_near, GridPick* picks) const;
  GridSums choose_best(int group, float scale, int n_near, GridPick* picks) const;
  void set_points(int group, int shift, float scale, int* points) const;
  float best_real_scale(int group) const;
  GridFit<Kind> round_scales(const float* real, float d, GridSums& units) const;

  std::span<const uint16_t> entries_;
  const GridIndex& index_;
  const float* x_ = nullptr;
  Entry all_[kSuperBlock / Kind::kDigits];
};

// The nearest levels of a group's numbers, an index a point. Eight levels are the odd numbers from
// 1 on, or nearly so; three are compared with the borders between them.
template <class Kind>
void GridSearch<Kind>::set_points(int group, int shift, float scale, int* points) const {
  constexpr int N = Kind::kGroup;
  const float* x = x_ + group * N;
  float parts[N];  // whole numbers
  if constexpr (Kind::kLevels == 8) {
    const float half = 0.5F / scale;
    for (int i = 0; i < N; ++i) {
      parts[i] = nearest_whole(std::min(std::max(x[i] * half - 0.5F, 0.0F), 7.0F));
    }
  } else {
    const float* level = Kind::kLevel[shift];
    const float low = 0.5F * scale * (level[0] + level[1]);
    const float high = 0.5F * scale * (level[1] + level[2]);
    for (int i = 0; i < N; ++i) {
      parts[i] = (x[i] > low ? 1.0F : 0.0F) + (x[i] > high ? 1.0F : 0.0F);
    }
  }
  constexpr float kBase = Kind::kLevels;
  for (int e = 0; e < kEntriesOfGroup; ++e) {
    const float* part = parts + e * Kind::kDigits;
    float point = 0.0F;
    for (int i = Kind::kDigits; i-- > 0;) point = point * kBase + part[i];
    points[e] = static_cast<int>(point);
  }
}

template <class Kind>
GridSums GridSearch<Kind>::choose(int entry, int shift, int point, float scale, int n_near,
                                  GridPick& pick) const {
  const GridMoments<Kind>& moments = all_[entry].moments[shift];
  int best = index_.entry_at(point);
  if (best < 0) {
    constexpr int kValues = GridMoments<Kind>::kValues;
    float cost[4][kValues];
    for (int n = 0; n < 4; ++n) {
      for (int v = 0; v < kValues; ++v) {
        cost[n][v] = scale * moments.ll[n][v] - 2.0F * moments.xl[n][v];
      }
    }
    const uint16_t* near = index_.near(point);
    float least = INFINITY;
    best = near[0];
    for (int k = 0; k < n_near; ++k) {
      const uint16_t word = entries_[near[k]];
      const float sum = (cost[0][word & 15] + cost[1][(word >> 4) & 15]) +
                        (cost[2][(word >> 8) & 15] + cost[3][word >> 12]);
      if (sum < least) {
        least = sum;
        best = near[k];
      }
    }
  }
  pick = {static_cast<uint16_t>(best), static_cast<uint8_t>(shift)};
  const uint16_t word = entries_[static_cast<size_t>(best)];
  const int a = word & 15;
  const int b = (word >> 4) & 15;
  const int c = (word >> 8) & 15;
  const int d = word >> 12;
  return {(moments.ll[0][a] + moments.ll[1][b]) + (moments.ll[2][c] + moments.ll[3][d]),
          (moments.xl[0][a] + moments.xl[1][b]) + (moments.xl[2][c] + moments.xl[3][d])};
}

// The entries of a group with one set of levels.
template <class Kind>
GridSums GridSearch<Kind>::choose_group(int group, int shift, float scale, int n_near,
                                        GridPick* picks) const {
  int points[kEntriesOfGroup];
  set_points(group, shift, scale, points);
  GridSums sums;
  for (int e = 0; e < kEntriesOfGroup; ++e) {
    const GridSums one =
        choose(group * kEntriesOfGroup + e, shift, points[e], scale, n_near, picks[e]);
    sums.ll += one.ll;
    sums.xl += one.xl;
  }
  return sums;
}

// The entries of a group, with the better of the sets of levels.
template <class Kind>
GridSums GridSearch<Kind>::choose_best(int group, float scale, int n_near, GridPick* picks) const {
  if constexpr (Kind::kShifts == 1) {
    return choose_group(group, 0, scale, n_near, picks);
  } else if constexpr (!Kind::kShiftPerEntry) {
    GridPick other[kEntriesOfGroup];
    const GridSums plus = choose_group(group, 0, scale, n_near, picks);
    const GridSums minus = choose_group(group, 1, scale, n_near, other);
    if (!(minus.error(scale) < plus.error(scale))) return plus;
    std::copy(other, other + kEntriesOfGroup, picks);
    return minus;
  } else {
    int points[2][kEntriesOfGroup];
    for (int shift = 0; shift < 2; ++shift) set_points(group, shift, scale, points[shift]);
    GridSums sums;
    for (int e = 0; e < kEntriesOfGroup; ++e) {
      const int entry = group * kEntriesOfGroup + e;
      GridPick other;
      GridSums one = choose(entry, 0, points[0][e], scale, n_near, picks[e]);
      const GridSums minus = choose(entry, 1, points[1][e], scale, n_near, other);
      if (minus.error(scale) < one.error(scale)) {
        one = minus;
        picks[e] = other;
      }
      sums.ll += one.ll;
      sums.xl += one.xl;
    }
    return sums;
  }
}

// The real scale of a group with the least error: the scales tried, each solved for by least
// squares with the entries chosen at it.
template <class Kind>
float GridSearch<Kind>::best_real_scale(int group) const {
  const float top = std::fabs(extreme(x_ + group * Kind::kGroup, Kind::kGroup));
  if (top < 1e-20F) return 0.0F;
  GridPick picks[kEntriesOfGroup];
  float best = 0.0F;
  float best_gain = -1.0F;
  for (int step = 0; step <= Kind::kSteps; ++step) {
    // The last step starts from the best of the others.
    const float tried =
        step < Kind::kSteps ? top / (Kind::kFirst + Kind::kStep * static_cast<float>(step)) : best;
    const GridSums sums = choose_best(group, tried, Kind::kFewNear, picks);
    if (sums.ll > 0.0F && sums.xl > 0.0F && sums.xl * sums.xl > best_gain * sums.ll) {
      best_gain = sums.xl * sums.xl / sums.ll;
      best = sums.xl / sums.ll;
    }
  }
  return best;
}

// Whole scales for a given d: those on either side of the one wished for. `units` becomes the sums
// for d itself.
template <class Kind>
GridFit<Kind> GridSearch<Kind>::round_scales(const float* real, float d, GridSums& units) const {
  GridFit<Kind> fit;
  fit.d = through_f16(d);
  fit.error = 0.0F;
  units = {};
  const float inverse = inverse_or_zero(fit.d);
  for (int g = 0; g < kGroups; ++g) {
    const float wish =
        std::clamp(0.5F * (real[g] * inverse - 1.0F), 0.0F, static_cast<float>(Kind::kTopScale));
    const int below = std::min(static_cast<int>(wish), Kind::kTopScale - 1);
    GridSums best;
    float least = INFINITY;
    for (int scale = below; scale <= below + 1; ++scale) {
      const auto odd = static_cast<float>(2 * scale + 1);
      GridPick picks[kEntriesOfGroup];
      const GridSums sums = choose_best(g, fit.d * odd, Kind::kNear, picks);
      if (const float error = sums.error(fit.d * odd); error < least) {
        least = error;
        best = {sums.ll * odd * odd, sums.xl * odd};
        fit.scales[g] = scale;
        std::copy(picks, picks + kEntriesOfGroup, fit.picks + g * kEntriesOfGroup);
      }
    }
    fit.error += least;
    units.ll += best.ll;
    units.xl += best.xl;
  }
  return fit;
}

template <class Kind>
GridFit<Kind> GridSearch<Kind>::fit(const float* x, const float* w) {
  x_ = x;
  for (int e = 0; e < kSuperBlock / Kind::kDigits; ++e) {
    for (int shift = 0; shift < Kind::kShifts; ++shift) {
      all_[e].moments[shift].set(Kind::kLevel[shift], x + e * Kind::kDigits, w + e * Kind::kDigits);
    }
  }
  float real[kGroups];
  for (int g = 0; g < kGroups; ++g) real[g] = best_real_scale(g);
  GridFit<Kind> best;
  const float top = *std::max_element(real, real + kGroups);
  if (!(top > 0.0F)) {
    best.error = 0.0F;
    return best;
  }
  float d = top / static_cast<float>(2 * Kind::kTopScale + 1);
  for (int round = 0; round < Kind::kRounds; ++round) {
    GridSums units;
    const GridFit<Kind> fit = round_scales(real, d, units);
    if (!(fit.error < best.error)) break;
    best = fit;
    if (!(units.ll > 0.0F)) break;
    d = units.xl / units.ll;
  }
  return best;
}

}  // namespace ruv
