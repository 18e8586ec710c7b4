// The rows of ruv_bench_ablation over a vector policy V: matmul kernels of quantised weights with
// work left out. Included by one object file per instruction set.
#pragma once

#include "ablation.h"
#include "kernels/generic/superblocks.inc.h"

namespace ruv {
namespace {

// Calls f(chunk, block of the chunk, planes of the block) for every block of every group in the
// order and with the prefetches of multiply_tile.
template <class V, class F, class Function>
RUV_INLINE void for_blocks(const GemmArgs& args, Function f) {
  constexpr int kVector = 4 * V::kLanes;
  for (int64_t group = 0; group * V::kLanes < args.n_cols; ++group) {
    const std::byte* chunk = first_chunk<V, F>(args, group);
    for (int64_t left = args.k / 32; left > 0; left -= F::Layout::kBlocksPerChunk) {
      for (int b = 0; b < F::Layout::kBlocksPerChunk && b < left; ++b) {
        const std::byte* planes =
            chunk + (F::Layout::kHeaderVectors + b * F::Layout::kBlockVectors) * kVector;
        RUV_UNROLL
        for (int line = 0; line < F::Layout::kBlockVectors * kVector; line += 64) {
          __builtin_prefetch(planes + args.ahead + line);
        }
        f(chunk, b, planes);
      }
      chunk += F::Layout::kVectors * kVector;
    }
  }
}

template <class V>
void keep(const GemmArgs& args, const typename V::B& bits, typename V::F number) {
  __builtin_memcpy(args.out, &bits, sizeof bits);
  V::store(args.out + V::kLanes, number);
}

template <class V, class F>
void read_weights(const GemmArgs& args) {
  typename V::B bits[4] = {};
  for_blocks<V, F>(
      args, [&](const std::byte*, int, const std::byte* planes) __attribute__((always_inline)) {
        RUV_UNROLL
        for (int v = 0; v < F::Layout::kBlockVectors; ++v) {
          bits[v % 4] = V::or_(bits[v % 4], V::load_bytes(planes + v * 4 * V::kLanes));
        }
      });
  keep<V>(args, V::or_(V::or_(bits[0], bits[1]), V::or_(bits[2], bits[3])), V::zero());
}

template <class V, class F>
void unpack_weights(const GemmArgs& args) {
  typename V::B bits[4] = {};
  typename V::F sum = V::zero();
  for_blocks<V, F>(
      args, [&](const std::byte* chunk, int b, const std::byte* planes)
                __attribute__((always_inline)) {
                  Unpacked<V> w;
                  F::unpack(F::open(chunk), chunk, b, planes, w);
                  RUV_UNROLL
                  for (int j = 0; j < 8; ++j) {
                    bits[j % 4] = V::or_(bits[j % 4], w.codes[j]);
                  }
                  sum = V::add(sum, w.scale[0]);
                });
  keep<V>(args, V::or_(V::or_(bits[0], bits[1]), V::or_(bits[2], bits[3])), sum);
}

template <class V, class F>
int64_t multiply_one_panel(const GemmArgs& args, int64_t rounds) {
  if constexpr (V::kPanelFromRows == 0) {
    return 0;
  } else {
    constexpr int R = F::kScales == 1 ? V::kPanelRows : V::kPanelRowsTwoScales;
    PanelBlock<V, F, 2> panel[V::kPanelBlocks];
    for (int g = 0; g < 2; ++g) {
      GroupStream<V, F>(args, g, 0).unpack(panel, V::kPanelBlocks, g);
    }
    for (int64_t round = 0; round < rounds; ++round) {
      for (int64_t row = 0; row + R <= args.n_rows; row += R) {
        multiply_panel_tile<V, F, 2, R>(args, panel, {0, 0, V::kPanelBlocks}, row);
      }
    }
    return rounds * (args.n_rows / R * R) * 2 * V::kLanes * 32 * V::kPanelBlocks;
  }
}

template <class V, class F>
constexpr AblationRow ablation(GemmKernel kernel) {
  return {kernel, read_weights<V, F>, unpack_weights<V, F>, multiply_one_panel<V, F>};
}

}  // namespace
}  // namespace ruv
