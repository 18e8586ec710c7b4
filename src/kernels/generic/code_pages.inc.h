// Attention over pages of 4-bit and 2-bit codes: those of int8 pages with several words of keys, or
// more tokens' values, in the same bytes. Shifts and masks take them apart in registers.
#pragma once

#include "kernels/generic/byte_pages.inc.h"

namespace ruv {
namespace {

// Codes of one page of one head, kBits each.
template <class V, int kBits>
struct Codes {
  using F = typename V::F;
  using I = typename V::I;
  static constexpr int L = V::kLanes;
  static constexpr int kParts = kPageTokens / L;
  static constexpr int kBlockRows = Pages<V>::kBlockRows;
  static constexpr int kSums = Pages<V>::kSums;
  static constexpr int64_t kDistance = BytePages<V>::kDistance;
  static constexpr int kWords = 8 / kBits;    // words of keys in the same bytes
  static constexpr int kTokens = 32 / kBits;  // of a word of values
  static constexpr int kMask = (1 << kBits) - 1;
  static constexpr int kOffset = 1 << (kBits - 1);

  // Word `at` of those that share bytes.
  RUV_INLINE static typename V::B codes_of(typename V::B x, int at) {
    if constexpr (kBits == 4) {
      return at == 0 ? V::low_nibbles(x) : V::high_nibbles(x);
    } else {
      return at == 0   ? V::template pair<0, 0>(x)
             : at == 1 ? V::template pair<2, 0>(x)
             : at == 2 ? V::template pair<4, 0>(x)
                       : V::template pair<6, 0>(x);
    }
  }

  // R rows against P pages.
  template <int R, int P>
  static void score_block(const CodeScoreArgs& a, int64_t r, int64_t page, bool fetch) {
    const int64_t n_blocks = (a.head_dim + 4 * kWords - 1) / (4 * kWords);
    I sums[R][P * kParts];
    RUV_UNROLL
    for (int i = 0; i < R; ++i) {
      RUV_UNROLL
      for (int c = 0; c < P * kParts; ++c) sums[i][c] = V::set_int(-kOffset * a.q_sum[r + i]);
    }
    const std::byte* keys[P];
    const char* ahead[P];
    bool fetches = fetch;
    RUV_UNROLL
    for (int p = 0; p < P; ++p) {
      keys[p] = static_cast<const std::byte*>(a.keys.pages[page + p]);
      ahead[p] = page_ahead(a.keys, page + p, kDistance);
      fetches = fetches && ahead[p] != nullptr;
    }
    const int8_t* const q = a.q + r * a.q_stride;
    for (int64_t block = 0; block < n_blocks; ++block) {
      if (fetches) {
        RUV_UNROLL
        for (int p = 0; p < P; ++p) __builtin_prefetch(ahead[p] + block * kPageTokens * 4);
      }
      RUV_UNROLL
      for (int w = 0; w < kWords; ++w) {
        typename V::B key[P * kParts];
        RUV_UNROLL
        for (int c = 0; c < P * kParts; ++c) {
          const std::byte* const at = keys[c / kParts] + (block * kPageTokens + c % kParts * L) * 4;
          key[c] = codes_of(V::load_bytes(at), w);
        }
        RUV_UNROLL
        for (int i = 0; i < R; ++i) {
          const auto x = V::four_of(q + i * a.q_stride + (block * kWords + w) * 4);
          RUV_UNROLL
          for (int c = 0; c < P * kParts; ++c) sums[i][c] = V::dot_codes(sums[i][c], key[c], x);
        }
      }
    }
    RUV_UNROLL
    for (int i = 0; i < R; ++i) {
      float* const to = a.scores + (r + i) * a.scores_stride + page * kPageTokens;
      const F row = V::set(a.q_scale[r + i]);
      const F sum = V::set(static_cast<float>(a.q_sum[r + i]));
      RUV_UNROLL
      for (int c = 0; c < P * kParts; ++c) {
        const int64_t at = page * kPageTokens + c * L;
        const F scaled = V::mul(V::from_int(sums[i][c]), V::load(a.key_scale + at));
        const F middle = V::mul(V::load(a.key_middle + at), sum);
        V::store(to + c * L, V::mul(V::add(scaled, middle), row));
      }
    }
  }

  template <int R>
  static void score_rows(const CodeScoreArgs& a, int64_t r, int64_t page, int64_t n, bool fetch) {
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

  static void scores(const CodeScoreArgs& a) {
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

  // Adds pairs kPair and after of the words at `values` to the sums.
  template <int R, int D, int kPair = 0>
  RUV_INLINE static void add_pairs(I (&sums)[R][D], const uint32_t* values, const int16_t* p,
                                   int64_t p_stride) {
    if constexpr (kPair < kTokens / 2) {
      typename V::W value[D];
      RUV_UNROLL
      for (int c = 0; c < D; ++c) {
        value[c] = V::template code_pairs<kPair * kBits, kMask>(values + c * L);
      }
      RUV_UNROLL
      for (int i = 0; i < R; ++i) {
        const auto x = V::two_of(p + i * p_stride + 2 * kPair);
        RUV_UNROLL
        for (int c = 0; c < D; ++c) sums[i][c] = V::dot_values(sums[i][c], value[c], x);
      }
      add_pairs<R, D, kPair + 1>(sums, values, p, p_stride);
    }
  }

  // R rows, D vectors of the head from column `begin` on.
  template <int R, int D>
  static void value_block(const CodeValueArgs& a, int64_t r, int64_t begin) {
    I sums[R][D];
    RUV_UNROLL
    for (int i = 0; i < R; ++i) {
      RUV_UNROLL
      for (int c = 0; c < D; ++c) sums[i][c] = V::set_int(0);
    }
    for (int64_t page = 0; page < a.values.n_pages; ++page) {
      const char* const ahead = r == 0 ? page_ahead(a.values, page, kDistance) : nullptr;
      const int16_t* const p = a.weights + r * a.weights_stride + page * kPageTokens;
      RUV_UNROLL
      for (int t = 0; t < kPageTokens; t += kTokens) {
        const int64_t at = t / kTokens * a.head_dim + begin;
        if (ahead != nullptr) {
          RUV_UNROLL
          for (int byte = 0; byte < D * L * 4; byte += 64) {
            __builtin_prefetch(ahead + at * 4 + byte);
          }
        }
        add_pairs<R, D>(sums, static_cast<const uint32_t*>(a.values.pages[page]) + at, p + t,
                        a.weights_stride);
      }
    }
    RUV_UNROLL
    for (int i = 0; i < R; ++i) {
      float* const to = a.out + (r + i) * a.out_stride + begin;
      const F scale = V::set(a.scale[r + i]);
      const F offset = V::set(a.offset[r + i]);
      RUV_UNROLL
      for (int c = 0; c < D; ++c) {
        V::store(to + c * L, V::add(V::mul(V::from_int(sums[i][c]), scale), offset));
      }
    }
  }

  // The last head_dim mod kLanes columns of one row.
  static void value_edge(const CodeValueArgs& a, int64_t r, int64_t begin) {
    const int64_t n = a.head_dim - begin;
    I sums[1][1] = {{V::set_int(0)}};
    for (int64_t page = 0; page < a.values.n_pages; ++page) {
      const int16_t* const p = a.weights + r * a.weights_stride + page * kPageTokens;
      for (int t = 0; t < kPageTokens; t += kTokens) {
        const auto* const values =
            static_cast<const uint32_t*>(a.values.pages[page]) + t / kTokens * a.head_dim + begin;
        uint32_t lanes[L] = {};
        for (int64_t i = 0; i < n; ++i) lanes[i] = values[i];
        add_pairs<1, 1>(sums, lanes, p + t, 0);
      }
    }
    const F scaled = V::mul(V::from_int(sums[0][0]), V::set(a.scale[r]));
    Part<V>().store(a.out + r * a.out_stride + begin, V::add(scaled, V::set(a.offset[r])), n);
  }

  template <int R>
  static void value_rows(const CodeValueArgs& a, int64_t r) {
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

  static void values(const CodeValueArgs& a) {
    for_row_blocks<kBlockRows>(a.n_rows, [&](int64_t r, int n_block) {
      static constexpr decltype(&value_rows<1>) kRows[] = {
          value_rows<1>, value_rows<2>, value_rows<3>, value_rows<4>, value_rows<5>, value_rows<6>};
      kRows[n_block - 1](a, r);
    });
  }
};

template <class V>
struct CodePages {
  using F = typename V::F;

  static void scores(const CodeScoreArgs& a) {
    a.bits == 4 ? Codes<V, 4>::scores(a) : Codes<V, 2>::scores(a);
  }
  static void values(const CodeValueArgs& a) {
    a.bits == 4 ? Codes<V, 4>::values(a) : Codes<V, 2>::values(a);
  }
  static CodeWeights weights(const float* scores, const float* token_scale, const float* token_low,
                             int16_t* out, int64_t n, float max, float unit) {
    F s[4] = {V::zero(), V::zero(), V::zero(), V::zero()};
    const float sum = BytePages<V>::weigh(
        scores, token_scale, out, n, max,
        unit, [&](int64_t i, int j, F p) __attribute__((always_inline)) {
          s[j] = V::fma(p, V::load(token_low + i), s[j]);
        });
    return {sum, V::sum(V::add(V::add(s[0], s[1]), V::add(s[2], s[3])))};
  }
};

}  // namespace
}  // namespace ruv
