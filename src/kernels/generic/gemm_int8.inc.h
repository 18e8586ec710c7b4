// Int8 matmul over the packed layouts (pack/layout.h), written once over a vector policy V and
// included by one object file per instruction set. A tile is one group of V::kLanes weight rows
// times R activation rows; every output is a chain of the same operations along K for every R.
//
// A weight format F gives: DType kType, Layout, kMax (greatest unsigned code; 0 = signed bytes),
// kOffset (subtracted from every code), kScales (1, or 2 for 16-number sub-blocks), kMins, and
// open(chunk) / unpack(chunk state, block, Unpacked&).
#pragma once

#include "kernels/generic/tile.inc.h"
#include "kernels/kernels.h"

namespace ruv {
namespace {

// One block of 32 numbers of every lane, ready to multiply.
template <class V>
struct Unpacked {
  typename V::B codes[8];
  typename V::F scale[2];
  typename V::F minimum[2];  // added, so already negative where the format subtracts
};

// acc + (this block's products). The float operations here are the bit-identity contract.
template <class V, class F>
RUV_INLINE typename V::F add_block(const Unpacked<V>& w, const ActBlock* a, typename V::F acc) {
  typename V::F t;
  if constexpr (F::kScales == 1) {
    const auto start = V::template weigh_sums<-F::kOffset, -F::kOffset>(a->half_sum);
    t = V::mul(V::from_int(V::template dot<F::kMax, 0, 8>(start, w.codes, a->q)), w.scale[0]);
    if constexpr (F::kMins) {
      t = V::fma(w.minimum[0], V::from_int(V::template weigh_sums<1, 1>(a->half_sum)), t);
    }
  } else {
    const auto start0 = V::template weigh_sums<-F::kOffset, 0>(a->half_sum);
    const auto start1 = V::template weigh_sums<0, -F::kOffset>(a->half_sum);
    t = V::mul(V::from_int(V::template dot<F::kMax, 0, 4>(start0, w.codes, a->q)), w.scale[0]);
    t = V::fma(V::from_int(V::template dot<F::kMax, 4, 8>(start1, w.codes, a->q)), w.scale[1], t);
    if constexpr (F::kMins) {
      const auto sum0 = V::from_int(V::template weigh_sums<1, 0>(a->half_sum));
      const auto sum1 = V::from_int(V::template weigh_sums<0, 1>(a->half_sum));
      t = V::fma(w.minimum[0], sum0, t);
      t = V::fma(w.minimum[1], sum1, t);
    }
  }
  return V::fma(t, V::set(a->scale), acc);
}

// GemmKernel::ahead. Hardware prefetch alone halves the speed of 4 and 8 rows on Zen 5; formats of
// fewer bytes gain from a longer reach.
template <class V, class F>
constexpr int kAheadBytes = V::prefetch_bytes(F::Layout::kBlockVectors);

// Where a packed group begins.
template <class V, class F>
RUV_INLINE const std::byte* first_chunk(const GemmArgs& args, int64_t group) {
  const int64_t blocks = args.k / 32;
  const int64_t chunks = (blocks + F::Layout::kBlocksPerChunk - 1) / F::Layout::kBlocksPerChunk;
  const int64_t n_vectors =
      chunks * (F::Layout::kVectors - F::Layout::kBlocksPerChunk * F::Layout::kBlockVectors) +
      blocks * F::Layout::kBlockVectors;
  return args.weights + group * n_vectors * 4 * V::kLanes;
}

template <class V, class F, int R>
void multiply_tile(const GemmArgs& args, int64_t group, int64_t row) {
  constexpr int kVector = 4 * V::kLanes;
  const int64_t blocks = args.k / 32;
  const std::byte* chunk = first_chunk<V, F>(args, group);
  const std::byte* act = args.act + row * args.act_stride;

  typename V::F acc[R];
  RUV_UNROLL
  for (int r = 0; r < R; ++r) acc[r] = V::zero();
  int64_t left = blocks;
  for (; left > 0; chunk += F::Layout::kVectors * kVector) {
    const auto opened = F::open(chunk);
    const int n =
        left < F::Layout::kBlocksPerChunk ? static_cast<int>(left) : F::Layout::kBlocksPerChunk;
    for (int b = 0; b < n; ++b) {
      Unpacked<V> w;
      const std::byte* planes =
          chunk + (F::Layout::kHeaderVectors + b * F::Layout::kBlockVectors) * kVector;
      RUV_UNROLL
      for (int line = 0; line < F::Layout::kBlockVectors * kVector; line += 64) {
        __builtin_prefetch(planes + args.ahead + line);
      }
      F::unpack(opened, chunk, b, planes, w);
      RUV_UNROLL
      for (int r = 0; r < R; ++r) {
        const auto* a = reinterpret_cast<const ActBlock*>(act + r * args.act_stride);
        acc[r] = add_block<V, F>(w, a, acc[r]);
      }
      act += sizeof(ActBlock);
    }
    left -= n;
  }
  RUV_UNROLL
  for (int r = 0; r < R; ++r) {
    store_lanes<V>(args.out + (row + r) * args.out_stride + group * V::kLanes, acc[r],
                   args.n_cols - group * V::kLanes);
  }
}

// n rows of one group from `row` on: at least 1, at most R.
template <class V, class F, int R>
RUV_INLINE void multiply_rest(const GemmArgs& args, int64_t group, int64_t row, int64_t n) {
  if constexpr (R > 1) {
    if (n < R) return multiply_rest<V, F, R - 1>(args, group, row, n);
  }
  multiply_tile<V, F, R>(args, group, row);
}

// The rows [row, end) of one group: the largest tiles, then one with what is left. Each tile reads
// and unpacks the group once more, which costs more than tiles of unequal rows do.
template <class V, class F>
void multiply_group(const GemmArgs& args, int64_t group, int64_t row, int64_t end) {
  constexpr int R = V::kTileRows;
  for (; end - row >= R; row += R) multiply_tile<V, F, R>(args, group, row);
  if (row < end) multiply_rest<V, F, R - 1>(args, group, row, end - row);
}

template <class V, class F>
void multiply(const GemmArgs& args) {
  int64_t rows = kRowBlockBytes / (args.act_stride > 0 ? args.act_stride : 1) / 8 * 8;
  if (rows < 8) rows = 8;
  for (int64_t row = 0; row < args.n_rows; row += rows) {
    const int64_t end = row + rows < args.n_rows ? row + rows : args.n_rows;
    for (int64_t group = 0; group * V::kLanes < args.n_cols; ++group) {
      multiply_group<V, F>(args, group, row, end);
    }
  }
}

}  // namespace
}  // namespace ruv
