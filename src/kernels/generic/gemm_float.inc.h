// Float matmul: weights f32, f16 or bf16 interleaved by lane, activations float32. Four partial
// sums per output (k mod 4) hide the latency of fma at one row; their order is the same for every
// R.
#pragma once

#include "kernels/generic/tile.inc.h"
#include "kernels/kernels.h"
#include "kernels/pack/packing.h"

namespace ruv {
namespace {

template <class V, DType kDType>
struct FloatFormat {
  static constexpr DType kType = kDType;
  static constexpr int kBytes = kDType == DType::f32 ? 4 : 2;
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

// How far ahead of the multiplication weights are asked for.
constexpr int kFloatPrefetch = 8192;

template <class V, class F, int R>
void multiply_float_tile(const GemmArgs& args, int64_t group, int64_t row) {
  constexpr int kStep = F::kBytes * V::kLanes;
  const std::byte* w = args.weights + group * ((args.k * kStep + 63) / 64 * 64);
  const float* x[R];
  typename V::F acc[R][4];
  RUV_UNROLL
  for (int r = 0; r < R; ++r) {
    x[r] = reinterpret_cast<const float*>(args.act + (row + r) * args.act_stride);
    for (int j = 0; j < 4; ++j) acc[r][j] = V::zero();
  }
  int64_t k = 0;
  for (; k + 4 <= args.k; k += 4, w += 4 * kStep) {
    RUV_UNROLL
    for (int line = 0; line < 4 * kStep; line += 64) __builtin_prefetch(w + kFloatPrefetch + line);
    RUV_UNROLL
    for (int j = 0; j < 4; ++j) {
      const typename V::F v = F::load(w + j * kStep);
      RUV_UNROLL
      for (int r = 0; r < R; ++r) acc[r][j] = V::fma(v, V::set(x[r][k + j]), acc[r][j]);
    }
  }
  RUV_UNROLL
  for (int j = 0; j < 3; ++j) {
    if (k + j >= args.k) break;
    const typename V::F v = F::load(w + j * kStep);
    RUV_UNROLL
    for (int r = 0; r < R; ++r) acc[r][j] = V::fma(v, V::set(x[r][k + j]), acc[r][j]);
  }
  RUV_UNROLL
  for (int r = 0; r < R; ++r) {
    const auto sum = V::add(V::add(acc[r][0], acc[r][1]), V::add(acc[r][2], acc[r][3]));
    store_lanes<V>(args.out + (row + r) * args.out_stride + group * V::kLanes, sum,
                   args.n_cols - group * V::kLanes);
  }
}

// Rows [row, end) in tiles of R while they fit; returns the first row left.
template <class V, class F, int R>
int64_t multiply_float_tiles(const GemmArgs& args, int64_t group, int64_t row, int64_t end) {
  if constexpr (R <= V::kFloatTileRows) {
    for (; end - row >= R; row += R) multiply_float_tile<V, F, R>(args, group, row);
  }
  return row;
}

template <class V, class F>
void multiply_float_group(const GemmArgs& args, int64_t group, int64_t row, int64_t end) {
  row = multiply_float_tiles<V, F, 6>(args, group, row, end);
  row = multiply_float_tiles<V, F, 4>(args, group, row, end);
  row = multiply_float_tiles<V, F, 3>(args, group, row, end);
  row = multiply_float_tiles<V, F, 2>(args, group, row, end);
  multiply_float_tiles<V, F, 1>(args, group, row, end);
}

template <class V, class F>
void multiply_float(const GemmArgs& args) {
  int64_t rows = kRowBlockBytes / (args.act_stride > 0 ? args.act_stride : 1) / 12 * 12;
  if (rows < 12) rows = 12;
  for (int64_t row = 0; row < args.n_rows; row += rows) {
    const int64_t end = row + rows < args.n_rows ? row + rows : args.n_rows;
    for (int64_t group = 0; group * V::kLanes < args.n_cols; ++group) {
      multiply_float_group<V, F>(args, group, row, end);
    }
  }
}

template <class V, DType kType>
constexpr GemmKernel float_row() {
  return {kType,
          ActFormat::f32,
          V::kLanes,
          packed_bytes<kType, V::kLanes>,
          pack_group<kType, V::kLanes>,
          multiply_float<V, FloatFormat<V, kType>>};
}

}  // namespace
}  // namespace ruv
