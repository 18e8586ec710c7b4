// Int8 matmul of many activation rows. A panel is a stretch of K of a few groups, unpacked once to
// bytes and scales in the first-level cache and then multiplied by tile after tile of rows; one
// broadcast of four activations serves every group of the tile. V::kPanelBlocks is how many blocks
// of 32 numbers a stretch has: a multiple of every format's chunk, so few that two groups fit the
// cache, and as many as can be, since a tile loads and stores its sums once a stretch. Outputs go
// through the same float operations in the same order as in gemm_int8.inc.h, so the bytes are the
// same.
#pragma once

#include "kernels/generic/gemm_int8.inc.h"

namespace ruv {
namespace {

template <class V, class F, int G>
struct PanelBlock {
  typename V::B codes[8][G];
  typename V::F scale[F::kScales][G];
  typename V::F minimum[F::kMins ? F::kScales : 1][G];
};

// Where V multiplies signed bytes it has less<kOffset>(codes), which takes the offset of the codes
// off as a panel is unpacked, once for all rows; elsewhere it is taken off the sums of every row.
template <class V>
constexpr bool kSignedPanel = requires(typename V::B codes) {
  V::template less<1>(codes);
};
template <class V, class F>
constexpr int kPanelOffset = kSignedPanel<V> ? 0 : F::kOffset;

template <class V, class F>
struct GroupStream {
  static constexpr int kVector = 4 * V::kLanes;
  const std::byte* chunk;

  // Requires: first_block is the first of a chunk.
  GroupStream(const GemmArgs& args, int64_t group, int64_t first_block)
      : chunk(first_chunk<V, F>(args, group) +
              first_block / F::Layout::kBlocksPerChunk * F::Layout::kVectors * kVector) {}

  // The next n_blocks blocks into column g of the panel.
  template <int G>
  void unpack(PanelBlock<V, F, G>* panel, int n_blocks, int g) {
    for (int first = 0; first < n_blocks; first += F::Layout::kBlocksPerChunk) {
      const auto opened = F::open(chunk);
      for (int b = 0; b < F::Layout::kBlocksPerChunk && first + b < n_blocks; ++b) {
        Unpacked<V> w;
        F::unpack(opened, chunk, b,
                  chunk + (F::Layout::kHeaderVectors + b * F::Layout::kBlockVectors) * kVector, w);
        if constexpr (kSignedPanel<V> && F::kOffset != 0) {
          RUV_UNROLL
          for (int j = 0; j < 8; ++j) w.codes[j] = V::template less<F::kOffset>(w.codes[j]);
        }
        PanelBlock<V, F, G>& to = panel[first + b];
        if constexpr (requires { to.set_codes(w, g); }) {
          to.set_codes(w, g);
        } else {
          RUV_UNROLL
          for (int j = 0; j < 8; ++j) to.codes[j][g] = w.codes[j];
        }
        RUV_UNROLL
        for (int s = 0; s < F::kScales; ++s) {
          to.scale[s][g] = w.scale[s];
          if constexpr (F::kMins) to.minimum[s][g] = w.minimum[s];
        }
      }
      chunk += F::Layout::kVectors * kVector;
    }
  }
};

// The integers of a tile: what the offset of the codes takes off, and the products of a block's
// words. An instruction set with other means gives a specialisation of its own.
template <class V, class F, int G, int R>
struct PanelDots {
  // dot = kFirst and kSecond times the row's half sums + Σ words [kBegin, kEnd). Exact.
  template <int kBegin, int kEnd, int kFirst, int kSecond>
  RUV_INLINE static void sum(const PanelBlock<V, F, G>& w, const ActBlock* const* a,
                             typename V::I (&dot)[G][R]) {
    RUV_UNROLL
    for (int r = 0; r < R; ++r) {
      const auto seed = V::template weigh_sums<kFirst, kSecond>(a[r]->half_sum);
      RUV_UNROLL
      for (int g = 0; g < G; ++g) dot[g][r] = seed;
    }
    if constexpr (requires { V::template add_products<kBegin, kEnd>(w.codes, a, dot); }) {
      V::template add_products<kBegin, kEnd>(w.codes, a, dot);
    } else {
      add_words<kBegin, kEnd>(w, a, dot);
    }
  }

 private:
  template <int kBegin, int kEnd>
  RUV_INLINE static void add_words(const PanelBlock<V, F, G>& w, const ActBlock* const* a,
                                   typename V::I (&dot)[G][R]) {
    RUV_UNROLL
    for (int j = kBegin; j < kEnd; ++j) {
      RUV_UNROLL
      for (int r = 0; r < R; ++r) {
        const auto four = V::four_bytes(a[r]->q + 4 * j);
        RUV_UNROLL
        for (int g = 0; g < G; ++g) dot[g][r] = V::dot_four(dot[g][r], w.codes[j][g], four);
      }
    }
  }
};

template <class V, class F, int G, int R>
struct PanelTile {
  typename V::F acc[G][R];

  RUV_INLINE void add_block(const PanelBlock<V, F, G>& w, const ActBlock* const* a) {
    using Dots = PanelDots<V, F, G, R>;
    constexpr int kOffset = kPanelOffset<V, F>;
    typename V::I dot[G][R];
    if constexpr (F::kScales == 1) {
      Dots::template sum<0, 8, -kOffset, -kOffset>(w, a, dot);
      RUV_UNROLL
      for (int r = 0; r < R; ++r) {
        typename V::F sum;
        if constexpr (F::kMins) sum = V::from_int(V::template weigh_sums<1, 1>(a[r]->half_sum));
        RUV_UNROLL
        for (int g = 0; g < G; ++g) {
          auto t = V::mul(V::from_int(dot[g][r]), w.scale[0][g]);
          if constexpr (F::kMins) t = V::fma(w.minimum[0][g], sum, t);
          acc[g][r] = V::fma(t, V::set(a[r]->scale), acc[g][r]);
        }
      }
    } else {
      typename V::F t[G][R];
      Dots::template sum<0, 4, -kOffset, 0>(w, a, dot);
      RUV_UNROLL
      for (int r = 0; r < R; ++r) {
        RUV_UNROLL
        for (int g = 0; g < G; ++g) t[g][r] = V::mul(V::from_int(dot[g][r]), w.scale[0][g]);
      }
      Dots::template sum<4, 8, 0, -kOffset>(w, a, dot);
      RUV_UNROLL
      for (int r = 0; r < R; ++r) {
        typename V::F sum[2];
        if constexpr (F::kMins) {
          sum[0] = V::from_int(V::template weigh_sums<1, 0>(a[r]->half_sum));
          sum[1] = V::from_int(V::template weigh_sums<0, 1>(a[r]->half_sum));
        }
        RUV_UNROLL
        for (int g = 0; g < G; ++g) {
          auto s = V::fma(V::from_int(dot[g][r]), w.scale[1][g], t[g][r]);
          if constexpr (F::kMins) {
            s = V::fma(w.minimum[0][g], sum[0], s);
            s = V::fma(w.minimum[1][g], sum[1], s);
          }
          acc[g][r] = V::fma(s, V::set(a[r]->scale), acc[g][r]);
        }
      }
    }
  }
};

// What a panel covers: blocks [first_block, first_block + n_blocks) of groups [group, group + G).
struct PanelPlace {
  int64_t group;
  int64_t first_block;
  int n_blocks;
};

template <class V, class F, int G, int R>
void multiply_panel_tile(const GemmArgs& args, const PanelBlock<V, F, G>* panel, PanelPlace at,
                         int64_t row) {
  PanelTile<V, F, G, R> tile;
  const ActBlock* a[R];
  float* const out = args.out + row * args.out_stride + at.group * V::kLanes;
  const int64_t lanes = args.n_cols - at.group * V::kLanes;
  RUV_UNROLL
  for (int r = 0; r < R; ++r) {
    a[r] =
        reinterpret_cast<const ActBlock*>(args.act + (row + r) * args.act_stride) + at.first_block;
    for (int g = 0; g < G; ++g) {
      tile.acc[g][r] =
          at.first_block == 0
              ? V::zero()
              : load_lanes<V>(out + r * args.out_stride + g * V::kLanes, lanes - g * V::kLanes);
    }
  }
  for (int b = 0; b < at.n_blocks; ++b) {
    tile.add_block(panel[b], a);
    RUV_UNROLL
    for (int r = 0; r < R; ++r) ++a[r];
  }
  RUV_UNROLL
  for (int r = 0; r < R; ++r) {
    RUV_UNROLL
    for (int g = 0; g < G; ++g) {
      store_lanes<V>(out + r * args.out_stride + g * V::kLanes, tile.acc[g][r],
                     lanes - g * V::kLanes);
    }
  }
}

// A share of the weights of the next panel, what the next tile writes and, with kPrefetchesRows,
// the activations that it reads, asked for while this tile computes.
template <class V, class F, int G>
struct PanelPrefetch {
  int64_t next_bytes;  // of each group of the next panel; 0: there is none
  int64_t per_tile;
  int64_t asked = 0;
  const std::byte* next[G] = {};  // their packed bytes

  void operator()(const GemmArgs& args, PanelPlace at, int64_t first_row, int64_t n_rows) {
    const int64_t end = asked + per_tile < next_bytes ? asked + per_tile : next_bytes;
    for (; asked < end; asked += 64) {
      for (int g = 0; g < G; ++g) __builtin_prefetch(next[g] + asked);
    }
    for (int64_t row = first_row; row < first_row + n_rows && row < args.n_rows; ++row) {
      if constexpr (V::kPrefetchesRows) {
        const std::byte* a = args.act + row * args.act_stride + at.first_block * kActBytes;
        for (int64_t i = 0; i < at.n_blocks * kActBytes; i += 64) __builtin_prefetch(a + i);
      } else {
        __builtin_prefetch(args.out + row * args.out_stride + at.group * V::kLanes, 1);
      }
    }
  }
  static constexpr int64_t kActBytes = sizeof(ActBlock);
};

// The fewest rows of a tile where `from` or more rows are split evenly into tiles of at most
// `most`.
constexpr int least_tile_rows(int most, int from) {
  int least = most;
  for (int n = from; n < from + most * most; ++n) {
    const int n_tiles = (n + most - 1) / most;
    if (n / n_tiles < least) least = n / n_tiles;
  }
  return least;
}

// n rows from `row` on: kLeast to R.
template <class V, class F, int G, int kLeast, int R>
RUV_INLINE void multiply_panel_rows(const GemmArgs& args, const PanelBlock<V, F, G>* panel,
                                    PanelPlace at, int64_t row, int64_t n) {
  if constexpr (R > kLeast) {
    if (n < R) return multiply_panel_rows<V, F, G, kLeast, R - 1>(args, panel, at, row, n);
  }
  multiply_panel_tile<V, F, G, R>(args, panel, at, row);
}

// One panel times all rows, in tiles of nearly equal rows: a tile of one or two would have too few
// independent sums to keep the multipliers busy.
template <class V, class F, int G>
void multiply_panel(const GemmArgs& args, PanelPlace at, PanelPlace next) {
  constexpr int R = F::kScales == 1 ? V::kPanelRows : V::kPanelRowsTwoScales;
  constexpr int kLeast = least_tile_rows(R, V::kPanelFromRows);
  constexpr int64_t kPackedBytes =
      int64_t{V::kPanelBlocks} / F::Layout::kBlocksPerChunk * F::Layout::kVectors * 4 * V::kLanes;
  const int64_t n_tiles = (args.n_rows + R - 1) / R;
  PanelBlock<V, F, G> panel[V::kPanelBlocks];
  PanelPrefetch<V, F, G> prefetch{.next_bytes = next.n_blocks > 0 ? kPackedBytes : 0,
                                  .per_tile = (kPackedBytes / n_tiles + 63) / 64 * 64};
  for (int g = 0; g < G; ++g) {
    GroupStream<V, F>(args, at.group + g, at.first_block).unpack(panel, at.n_blocks, g);
    prefetch.next[g] = GroupStream<V, F>(args, next.group + g, next.first_block).chunk;
  }
  int64_t row = 0;
  for (int64_t tile = 1; tile <= n_tiles; ++tile) {
    const int64_t end = args.n_rows * tile / n_tiles;
    prefetch(args, at, end, R);
    multiply_panel_rows<V, F, G, kLeast, R>(args, panel, at, row, end - row);
    row = end;
  }
}

// Groups [group, group + G) times all rows. After the last stretch come the next groups' first.
template <class V, class F, int G>
void multiply_panels(const GemmArgs& args, int64_t group) {
  const int64_t n_blocks = args.k / 32;
  const auto place = [&](int64_t of, int64_t first) {
    const int64_t left = n_blocks - first;
    const int64_t n = left < V::kPanelBlocks ? left : V::kPanelBlocks;
    return PanelPlace{of, first, static_cast<int>(n)};
  };
  const bool is_last = (group + 2 * G - 1) * V::kLanes >= args.n_cols;
  for (int64_t first = 0; first < n_blocks; first += V::kPanelBlocks) {
    const int64_t next = first + V::kPanelBlocks;
    multiply_panel<V, F, G>(args, place(group, first),
                            next < n_blocks ? place(group, next)
                            : is_last       ? PanelPlace{}
                                            : place(group + G, 0));
  }
}

// Groups of a panel: two; V says how many for formats of two scales if its registers hold fewer.
template <class V, class F>
constexpr int panel_groups() {
  if constexpr (F::kScales == 2 && requires { V::kPanelGroupsTwoScales; }) {
    return V::kPanelGroupsTwoScales;
  } else {
    return 2;
  }
}

template <class V, class F>
void multiply_many(const GemmArgs& args) {
  constexpr int G = panel_groups<V, F>();
  const int64_t n_groups = (args.n_cols + V::kLanes - 1) / V::kLanes;
  int64_t group = 0;
  for (; group + G <= n_groups; group += G) multiply_panels<V, F, G>(args, group);
  if constexpr (G == 2) {
    if (group < n_groups) multiply_panels<V, F, 1>(args, group);
  }
}

// GemmKernel::run: panels pay from a number of rows on.
template <class V, class F>
void multiply_rows(const GemmArgs& args) {
  if constexpr (V::kPanelFromRows > 0) {
    if (args.n_rows >= V::kPanelFromRows) return multiply_many<V, F>(args);
  }
  multiply<V, F>(args);
}

}  // namespace
}  // namespace ruv
