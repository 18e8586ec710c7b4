// Float matmul: weights f32, f16 or bf16, activations float32 (or bf16 in pairs). A group is four
// vectors of lanes side by side, so that one activation row has that many independent sums; every
// output is one chain of multiply-adds along K whatever the number of rows. Many rows convert a
// stretch of K (V::kFloatPanelSteps, a multiple of 32) to a float32 panel in the first-level cache
// once and reuse it tile after tile.
//
// A format F says what a step along K is: kNumbers numbers of every lane in kLaneBytes bytes, their
// activations (Act), and multiply_add.
#pragma once

#include "kernels/generic/tile.inc.h"
#include "kernels/kernels.h"
#include "kernels/pack/packing.h"

namespace ruv {
namespace {

constexpr int kFloatVectors = 4;

template <class V>
struct FloatPanel;

template <class V, DType kDType>
struct FloatFormat {
  using Act = float;
  using Panel = FloatPanel<V>;  // what a stretch is multiplied as for many rows
  static constexpr DType kType = kDType;
  static constexpr bool kConverts = kDType != DType::f32;  // to be a panel
  static constexpr int kNumbers = 1;
  static constexpr int kLaneBytes = kDType == DType::f32 ? 4 : 2;
  static constexpr bool kAsksAhead = true;  // its weights come from memory
  RUV_INLINE static typename V::F multiply_add(typename V::F w, float x, typename V::F acc) {
    return V::fma(w, V::set(x), acc);
  }
  RUV_INLINE static typename V::F load(const std::byte* p) {
    if constexpr (kType == DType::f32) {
      return V::load(reinterpret_cast<const float*>(p));
    } else if constexpr (kType == DType::f16) {
      return V::load_f16(p);
    } else {
      return V::load_bf16(p);
    }
  }
};

// Weights that are in the first-level cache.
template <class V>
struct FloatPanel : FloatFormat<V, DType::f32> {
  static constexpr bool kAsksAhead = false;
};

// Pairs of bf16: a lane's two neighbouring numbers side by side, activations rounded to bf16.
template <class V>
struct PairFormat {
  using Act = uint32_t;
  using Panel = PairFormat;
  static constexpr bool kConverts = false;
  static constexpr int kNumbers = 2;
  static constexpr int kLaneBytes = 4;
  static constexpr bool kAsksAhead = true;
  RUV_INLINE static typename V::B load(const std::byte* p) { return V::load_bytes(p); }
  RUV_INLINE static typename V::F multiply_add(typename V::B w, uint32_t x, typename V::F acc) {
    return V::dot_bf16(w, x, acc);
  }
};

// Fewer rows convert as they go.
constexpr int64_t kFloatPanelFromRows = 9;
// Weights that need no conversion are asked for by each tile below this many rows; with more, a
// stretch is in the cache after the first tile.
constexpr int64_t kFloatMemoryBelowRows = 48;

// A stretch of K of one group, and the activations that belong to it.
struct FloatStretch {
  const std::byte* weights;
  const std::byte* act;  // of row 0
  int64_t group;
  int64_t n_steps;
  bool is_first;  // outputs begin at zero
};

// Adds n steps to R rows of N sums; x[r] are a row's activations, x_bytes from those of the next
// row; weights are asked for `ahead` bytes in advance. An instruction set that multiplies by one
// number of a vector has its own (arm/neon_floats.inc.h).
template <class V, class F, int R, int N>
struct FloatSteps {
  static constexpr int kVector = F::kLaneBytes * V::kLanes;
  static constexpr int kStep = kFloatVectors * kVector;

  RUV_INLINE static void add(const std::byte* w, int64_t ahead,
                             const typename F::Act* const (&x)[R], int64_t x_bytes, int64_t n,
                             typename V::F (&acc)[R][N]) {
    // So few rounds of a loop that its end can be predicted.
    constexpr int kUnrolled = F::kAsksAhead ? 1 : V::kFloatStepsAtOnce;
    int64_t k = 0;
    for (; k + kUnrolled <= n; k += kUnrolled) {
      RUV_UNROLL
      for (int i = 0; i < kUnrolled; ++i) add_step(w + i * kStep, ahead, x, k + i, acc);
      w += kUnrolled * kStep;
      // Rows of long K come from afar, a page each.
      if constexpr (!F::kAsksAhead && V::kFloatPrefetchesRows) {
        RUV_UNROLL
        for (int r = 0; r < R; ++r) {
          __builtin_prefetch(reinterpret_cast<const std::byte*>(x[r] + k) + R * x_bytes);
        }
      }
    }
    for (; k < n; ++k, w += kStep) add_step(w, ahead, x, k, acc);
  }

 private:
  RUV_INLINE static void add_step(const std::byte* w, int64_t ahead,
                                  const typename F::Act* const (&x)[R], int64_t k,
                                  typename V::F (&acc)[R][N]) {
    if constexpr (R <= 4 && F::kAsksAhead) {
      RUV_UNROLL
      for (int line = 0; line < kStep; line += 64) __builtin_prefetch(w + ahead + line);
    }
    RUV_UNROLL
    for (int v = 0; v < N; ++v) {
      const auto weight = F::load(w + v * kVector);
      RUV_UNROLL
      for (int r = 0; r < R; ++r) acc[r][v] = F::multiply_add(weight, x[r][k], acc[r][v]);
    }
  }
};

// Adds a stretch to R rows of outputs: their first N vectors.
template <class V, class F, int R, int N>
void add_float_tile(const GemmArgs& args, const FloatStretch& s, int64_t row) {
  float* const out = args.out + row * args.out_stride + s.group * kFloatVectors * V::kLanes;
  const int64_t n_lanes = args.n_cols - s.group * kFloatVectors * V::kLanes;
  const typename F::Act* x[R];
  typename V::F acc[R][N];
  RUV_UNROLL
  for (int r = 0; r < R; ++r) {
    x[r] = reinterpret_cast<const typename F::Act*>(s.act + (row + r) * args.act_stride);
    RUV_UNROLL
    for (int v = 0; v < N; ++v) {
      acc[r][v] = s.is_first ? V::zero()
                             : load_lanes<V>(out + r * args.out_stride + v * V::kLanes,
                                             n_lanes - v * V::kLanes);
    }
  }
  FloatSteps<V, F, R, N>::add(s.weights, args.ahead, x, args.act_stride, s.n_steps, acc);
  RUV_UNROLL
  for (int r = 0; r < R; ++r) {
    RUV_UNROLL
    for (int v = 0; v < N; ++v) {
      store_lanes<V>(out + r * args.out_stride + v * V::kLanes, acc[r][v], n_lanes - v * V::kLanes);
    }
  }
}

// Rows from `row` on in tiles of R <= kMaxRows while they fit; returns the first row left.
template <class V, class F, int kMaxRows, int R, int N = kFloatVectors>
int64_t add_float_tiles(const GemmArgs& args, const FloatStretch& s, int64_t row) {
  if constexpr (R <= kMaxRows) {
    for (; args.n_rows - row >= R; row += R) add_float_tile<V, F, R, N>(args, s, row);
  }
  return row;
}

// All rows of a group whose columns fit into one vector, as those of an adapter of low rank do.
// The tile is as high as it takes to keep multiply-adds in flight.
template <class V, class F, int kMaxRows>
void add_narrow_rows(const GemmArgs& args, const FloatStretch& s) {
  int64_t row = add_float_tiles<V, F, 2 * kMaxRows, 2 * kMaxRows, 1>(args, s, 0);
  row = add_float_tiles<V, F, kMaxRows, 4, 1>(args, s, row);
  add_float_tiles<V, F, kMaxRows, 1, 1>(args, s, row);
}

// All rows.
template <class V, class F, int kMaxRows>
void add_float_rows(const GemmArgs& args, const FloatStretch& s) {
  if (args.n_cols - s.group * kFloatVectors * V::kLanes <= V::kLanes) {
    return add_narrow_rows<V, F, kMaxRows>(args, s);
  }
  int64_t row = add_float_tiles<V, F, kMaxRows, 6>(args, s, 0);
  row = add_float_tiles<V, F, kMaxRows, 4>(args, s, row);
  row = add_float_tiles<V, F, kMaxRows, 3>(args, s, row);
  row = add_float_tiles<V, F, kMaxRows, 2>(args, s, row);
  add_float_tiles<V, F, kMaxRows, 1>(args, s, row);
}

// Many rows, a stretch of K of a group at a time. weights_of(group, begin, n) gives steps
// [begin, begin + n) of a group as a panel.
template <class V, class Panel, class WeightsOf>
void multiply_float_panels(const GemmArgs& args, int64_t n_steps, WeightsOf weights_of) {
  for (int64_t group = 0; group * kFloatVectors * V::kLanes < args.n_cols; ++group) {
    for (int64_t begin = 0; begin < n_steps; begin += V::kFloatPanelSteps) {
      const int64_t left = n_steps - begin;
      const int64_t n = left < V::kFloatPanelSteps ? left : V::kFloatPanelSteps;
      add_float_rows<V, Panel, V::kFloatTileRows>(
          args, {.weights = weights_of(group, begin, n),
                 .act = args.act + begin * int64_t{sizeof(typename Panel::Act)},
                 .group = group,
                 .n_steps = n,
                 .is_first = begin == 0});
    }
  }
}

// Packed weights of one type, as they are or converted to float32.
template <class V, class F>
struct FloatPanels {
  static constexpr int kLanesOfAll = kFloatVectors * V::kLanes;
  static constexpr int kStep = kLanesOfAll * F::kLaneBytes;

  const std::byte* weights;
  int64_t group_bytes;
  float* panel;

  const std::byte* operator()(int64_t group, int64_t begin, int64_t n) const {
    const std::byte* from = weights + group * group_bytes + begin * kStep;
    if constexpr (F::kConverts) {
      for (int64_t i = 0; i < n * kFloatVectors; ++i) {
        V::store(panel + i * V::kLanes, F::load(from + i * F::kLaneBytes * V::kLanes));
      }
    }
    // After the loads of this stretch: what is asked for must not hold them up.
    constexpr int64_t kBytes = V::kFloatPanelSteps * kStep;
    for (int64_t i = 0; i < kBytes; i += 64) __builtin_prefetch(from + kBytes + i);
    return F::kConverts ? reinterpret_cast<const std::byte*>(panel) : from;
  }
};

template <class V, class F>
void multiply_float(const GemmArgs& args) {
  constexpr int kLanesOfAll = kFloatVectors * V::kLanes;
  const int64_t n_steps = (args.k + F::kNumbers - 1) / F::kNumbers;
  const int64_t group_bytes = (n_steps * kLanesOfAll * F::kLaneBytes + 63) / 64 * 64;
  if (args.n_rows >= kFloatPanelFromRows) {
    alignas(64) float panel[F::kConverts ? V::kFloatPanelSteps * kLanesOfAll : 1];
    const FloatPanels<V, F> panels{args.weights, group_bytes, panel};
    if (!F::kConverts && args.n_rows < kFloatMemoryBelowRows) {
      return multiply_float_panels<V, F>(args, n_steps, panels);
    }
    return multiply_float_panels<V, typename F::Panel>(args, n_steps, panels);
  }
  for (int64_t group = 0; group * kLanesOfAll < args.n_cols; ++group) {
    add_float_rows<V, F, V::kFloatDirectRows>(args, {.weights = args.weights + group * group_bytes,
                                                     .act = args.act,
                                                     .group = group,
                                                     .n_steps = n_steps,
                                                     .is_first = true});
  }
}

template <class V, DType kType>
constexpr GemmKernel float_row() {
  constexpr int kLanesOfAll = kFloatVectors * V::kLanes;
  return {kType,
          ActFormat::f32,
          kLanesOfAll,
          packed_bytes<kType, kLanesOfAll>,
          pack_group<kType, kLanesOfAll>,
          multiply_float<V, FloatFormat<V, kType>>,
          V::kFloatPrefetch};
}

}  // namespace
}  // namespace ruv
