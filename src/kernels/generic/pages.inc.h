// Attention over the f16 pages of one chunk of keys. A tile keeps the sums of several query rows
// and several vectors of keys (or of values) in registers, so each loaded vector serves all rows;
// one number's order of operations is along d (or along the tokens) whatever tile holds it.
#pragma once

#include "kernels/generic/vectors.inc.h"

namespace ruv {
namespace {

// Pages between the one read and the one asked for: memory answers later than a page takes.
constexpr int64_t kFetchDistance = 4;

// The page to ask for while page i is read, `distance` before its turn, or null.
RUV_INLINE const char* page_ahead(const PageRun& run, int64_t i, int64_t distance) {
  const int64_t at = i + distance;
  return at < run.n_pages + run.n_ahead ? reinterpret_cast<const char*>(run.pages[at]) : nullptr;
}

// Calls f with R = the rows of one block, n_rows cut into nearly equal blocks of at most kMax.
template <int kMax, class Function>
RUV_INLINE void for_row_blocks(int64_t n_rows, Function f) {
  const int64_t n_blocks = (n_rows + kMax - 1) / kMax;
  for (int64_t block = 0, r = 0; block < n_blocks; ++block) {
    const int64_t next = (block + 1) * n_rows / n_blocks;
    f(r, static_cast<int>(next - r));
    r = next;
  }
}

template <class V>
struct Pages {
  using F = typename V::F;
  static constexpr int L = V::kLanes;
  static constexpr int kParts = kPageTokens / L;
  static constexpr int kBlockRows = 6;
  static constexpr int kSums = L == 16 ? 24 : 12;  // registers of sums

  // R rows against P pages. kFetch: this block also asks for the pages ahead.
  template <int R, int P>
  static void score_block(const ScoreArgs& a, int64_t r, int64_t page, bool fetch) {
    F sums[R][P * kParts];
    RUV_UNROLL
    for (int i = 0; i < R; ++i) {
      RUV_UNROLL
      for (int c = 0; c < P * kParts; ++c) sums[i][c] = V::zero();
    }
    const uint16_t* keys[P];
    const char* ahead[P];
    bool fetches = fetch;
    RUV_UNROLL
    for (int p = 0; p < P; ++p) {
      keys[p] = static_cast<const uint16_t*>(a.keys.pages[page + p]);
      ahead[p] = page_ahead(a.keys, page + p, kFetchDistance);
      fetches = fetches && ahead[p] != nullptr;
    }
    const float* const q = a.q + r * a.q_stride;
    for (int64_t d = 0; d < a.head_dim; ++d) {
      if (fetches) {
        RUV_UNROLL
        for (int p = 0; p < P; ++p) __builtin_prefetch(ahead[p] + d * kPageTokens * 2);
      }
      F key[P * kParts];
      RUV_UNROLL
      for (int c = 0; c < P * kParts; ++c) {
        key[c] = V::load_f16(keys[c / kParts] + d * kPageTokens + c % kParts * L);
      }
      RUV_UNROLL
      for (int i = 0; i < R; ++i) {
        const F x = V::set(q[i * a.q_stride + d]);
        RUV_UNROLL
        for (int c = 0; c < P * kParts; ++c) sums[i][c] = V::fma(key[c], x, sums[i][c]);
      }
    }
    const F scale = V::set(a.scale);
    RUV_UNROLL
    for (int i = 0; i < R; ++i) {
      float* const to = a.scores + (r + i) * a.scores_stride + page * kPageTokens;
      RUV_UNROLL
      for (int c = 0; c < P * kParts; ++c) V::store(to + c * L, V::mul(sums[i][c], scale));
    }
  }

  template <int R>
  static void score_rows(const ScoreArgs& a, int64_t r, int64_t page, int64_t n, bool fetch) {
    const int64_t end = page + n;
    const auto pass = [&]<int P>() {
      if constexpr (R * P * kParts <= kSums) {
        for (; page + P <= end; page += P) score_block<R, P>(a, r, page, fetch);
      }
    };
    pass.template operator()<4>();
    pass.template operator()<2>();
    pass.template operator()<1>();
  }

  // Four pages stay in the first-level cache while all rows pass over them.
  static void scores(const ScoreArgs& a) {
    for (int64_t page = 0; page < a.keys.n_pages; page += 4) {
      const int64_t n = a.keys.n_pages - page < 4 ? a.keys.n_pages - page : 4;
      for_row_blocks<kBlockRows>(a.n_rows, [&](int64_t r, int n_block) {
        static constexpr decltype(&score_rows<1>) kRows[] = {score_rows<1>, score_rows<2>,
                                                             score_rows<3>, score_rows<4>,
                                                             score_rows<5>, score_rows<6>};
        kRows[n_block - 1](a, r, page, n, r == 0);
      });
    }
  }

  // R rows, D vectors of the head from column `begin` on.
  template <int R, int D>
  static void value_block(const ValueArgs& a, int64_t r, int64_t begin) {
    F sums[R][D];
    RUV_UNROLL
    for (int i = 0; i < R; ++i) {
      RUV_UNROLL
      for (int c = 0; c < D; ++c) sums[i][c] = V::zero();
    }
    for (int64_t page = 0; page < a.values.n_pages; ++page) {
      const auto* const values = static_cast<const uint16_t*>(a.values.pages[page]) + begin;
      const char* const ahead = r == 0 ? page_ahead(a.values, page, kFetchDistance) : nullptr;
      const float* const p = a.p + r * a.p_stride + page * kPageTokens;
      for (int t = 0; t < kPageTokens; ++t) {
        if (ahead != nullptr) {
          RUV_UNROLL
          for (int at = 0; at < D * L * 2; at += 64) {
            __builtin_prefetch(ahead + (t * a.head_dim + begin) * 2 + at);
          }
        }
        F value[D];
        RUV_UNROLL
        for (int c = 0; c < D; ++c) value[c] = V::load_f16(values + t * a.head_dim + c * L);
        RUV_UNROLL
        for (int i = 0; i < R; ++i) {
          const F x = V::set(p[i * a.p_stride + t]);
          RUV_UNROLL
          for (int c = 0; c < D; ++c) sums[i][c] = V::fma(value[c], x, sums[i][c]);
        }
      }
    }
    RUV_UNROLL
    for (int i = 0; i < R; ++i) {
      float* const to = a.out + (r + i) * a.out_stride + begin;
      RUV_UNROLL
      for (int c = 0; c < D; ++c) V::store(to + c * L, sums[i][c]);
    }
  }

  // The last head_dim mod kLanes columns of one row.
  static void value_edge(const ValueArgs& a, int64_t r, int64_t begin) {
    const int64_t n = a.head_dim - begin;
    F sum = V::zero();
    for (int64_t page = 0; page < a.values.n_pages; ++page) {
      const auto* const values = static_cast<const uint16_t*>(a.values.pages[page]) + begin;
      for (int t = 0; t < kPageTokens; ++t) {
        uint16_t lanes[L] = {};
        for (int64_t i = 0; i < n; ++i) lanes[i] = values[t * a.head_dim + i];
        sum = V::fma(V::load_f16(lanes), V::set(a.p[r * a.p_stride + page * kPageTokens + t]), sum);
      }
    }
    Part<V>().store(a.out + r * a.out_stride + begin, sum, n);
  }

  template <int R>
  static void value_rows(const ValueArgs& a, int64_t r) {
    int64_t d = 0;
    const auto pass = [&]<int D>() {
      if constexpr (R * D <= kSums) {
        for (; d + D * L <= a.head_dim; d += D * L) value_block<R, D>(a, r, d);
      }
    };
    pass.template operator()<4>();
    pass.template operator()<2>();
    pass.template operator()<1>();
    for (int i = 0; i < R && d < a.head_dim; ++i) value_edge(a, r + i, d);
  }

  static void values(const ValueArgs& a) {
    for_row_blocks<kBlockRows>(a.n_rows, [&](int64_t r, int n_block) {
      static constexpr decltype(&value_rows<1>) kRows[] = {
          value_rows<1>, value_rows<2>, value_rows<3>, value_rows<4>, value_rows<5>, value_rows<6>};
      kRows[n_block - 1](a, r);
    });
  }

  static float largest(const float* x, int64_t n) {
    F m = V::set(-__builtin_inff());
    for (int64_t i = 0; i < n; i += L) m = V::max(V::load(x + i), m);
    return V::greatest(m);
  }

  static void blend(float* total, const float* x, int64_t n, float old, float fresh) {
    const F a = V::set(old);
    const F b = V::set(fresh);
    map<V>(total, x, n, [=](F t, F y) { return V::fma(y, b, V::mul(t, a)); });
  }
};

}  // namespace
}  // namespace ruv
