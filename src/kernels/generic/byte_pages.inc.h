// Attention over the int8 pages of one chunk of keys: integer dot products of query bytes with four
// dimensions of sixteen keys at a time, and of int16 weights with two tokens' values at a time.
// Integer sums are exact, so tiles may be of any size.
#pragma once

#include "kernels/generic/pages.inc.h"

namespace ruv {
namespace {

// exp(x) of x <= 0 with a relative error below 4e-6, enough for weights of 15 bits; 0 where
// exp_of is.
template <class V>
RUV_INLINE typename V::F short_exp(typename V::F x) {
  const auto y = V::max(V::set(kExpMin), x);
  const auto n = V::round(V::mul(y, V::set(1.44269504088896341F)));
  const auto r = V::fma(n, V::set(-0.69314718055994531F), y);
  auto p = V::set(1.0F / 120);
  p = V::fma(p, r, V::set(1.0F / 24));
  p = V::fma(p, r, V::set(1.0F / 6));
  p = V::fma(p, r, V::set(0.5F));
  p = V::fma(p, r, V::set(1.0F));
  p = V::fma(p, r, V::set(1.0F));
  return V::zero_below(V::mul(p, V::power_of_two(n)), x, V::set(kExpMin));
}

// The scale of bytes whose largest number is max, rounded up to bf16: no byte exceeds 127 by more
// than rounding takes back. 0 where numbers are too small for an inverse.
RUV_INLINE float scale_of_bytes(float max) {
  const float scale = max / 127.0F;
  if (!(scale > 1e-36F)) return 0;
  uint32_t bits;
  __builtin_memcpy(&bits, &scale, 4);
  bits = (bits + 0xFFFFU) & 0xFFFF0000U;
  float rounded;
  __builtin_memcpy(&rounded, &bits, 4);
  return rounded;
}

// V has the members of an integer policy (bytes of x86/avx512_bytes.inc.h and its like).
template <class V>
struct BytePages {
  using F = typename V::F;
  using I = typename V::I;
  static constexpr int L = V::kLanes;
  static constexpr int kParts = kPageTokens / L;
  static constexpr int kBlockRows = Pages<V>::kBlockRows;
  static constexpr int kSums = Pages<V>::kSums;
  static constexpr int64_t kDistance = 16;  // these pages take a fraction of an f16 page's time

  static HeadQuant quantize(const float* x, int8_t* q, int64_t n) {
    F most = V::zero();
    int64_t i = 0;
    for (; i + L <= n; i += L) most = V::max(most, V::abs(V::load(x + i)));
    if (i < n) most = V::max(most, V::abs(Part<V>().load(x + i, n - i)));
    const float max = V::greatest(most);
    const float scale = scale_of_bytes(max);
    const F inverse = V::set(scale > 0 ? 1.0F / scale : 0.0F);
    int32_t sum = 0;
    for (i = 0; i + L <= n; i += L) V::store_int8(q + i, V::mul(V::load(x + i), inverse));
    if (i < n) {
      int8_t lanes[L];
      V::store_int8(lanes, V::mul(Part<V>().load(x + i, n - i), inverse));
      for (int64_t j = 0; i + j < n; ++j) q[i + j] = lanes[j];
    }
    for (i = 0; i < n; ++i) sum += q[i];
    return {scale, sum};
  }

  // R rows against P pages.
  template <int R, int P>
  static void score_block(const ByteScoreArgs& a, int64_t r, int64_t page, bool fetch) {
    const int64_t n_words = (a.head_dim + 3) / 4;
    I sums[R][P * kParts];
    RUV_UNROLL
    for (int i = 0; i < R; ++i) {
      RUV_UNROLL
      for (int c = 0; c < P * kParts; ++c) sums[i][c] = V::set_int(-V::kKeyOffset * a.q_sum[r + i]);
    }
    const uint8_t* keys[P];
    const char* ahead[P];
    bool fetches = fetch;
    RUV_UNROLL
    for (int p = 0; p < P; ++p) {
      keys[p] = static_cast<const uint8_t*>(a.keys.pages[page + p]);
      ahead[p] = page_ahead(a.keys, page + p, kDistance);
      fetches = fetches && ahead[p] != nullptr;
    }
    const int8_t* const q = a.q + r * a.q_stride;
    for (int64_t w = 0; w < n_words; ++w) {
      if (fetches) {
        RUV_UNROLL
        for (int p = 0; p < P; ++p) __builtin_prefetch(ahead[p] + w * kPageTokens * 4);
      }
      typename V::B key[P * kParts];
      RUV_UNROLL
      for (int c = 0; c < P * kParts; ++c) {
        key[c] = V::key_words(keys[c / kParts] + (w * kPageTokens + c % kParts * L) * 4);
      }
      RUV_UNROLL
      for (int i = 0; i < R; ++i) {
        const auto x = V::four_of(q + i * a.q_stride + w * 4);
        RUV_UNROLL
        for (int c = 0; c < P * kParts; ++c) sums[i][c] = V::dot_keys(sums[i][c], key[c], x);
      }
    }
    F scale[P * kParts];
    RUV_UNROLL
    for (int c = 0; c < P * kParts; ++c) {
      scale[c] = V::load(a.key_scale + page * kPageTokens + c * L);
    }
    RUV_UNROLL
    for (int i = 0; i < R; ++i) {
      float* const to = a.scores + (r + i) * a.scores_stride + page * kPageTokens;
      const F row = V::set(a.q_scale[r + i]);
      RUV_UNROLL
      for (int c = 0; c < P * kParts; ++c) {
        V::store(to + c * L, V::mul(V::mul(V::from_int(sums[i][c]), scale[c]), row));
      }
    }
  }

  template <int R>
  static void score_rows(const ByteScoreArgs& a, int64_t r, int64_t page, int64_t n, bool fetch) {
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

  static void scores(const ByteScoreArgs& a) {
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

  static float weights(const float* scores, const float* token_scale, int16_t* out, int64_t n,
                       float max, float unit) {
    return weigh(scores, token_scale, out, n, max, unit,
                 [](int64_t, int, F) __attribute__((always_inline)){});
  }

  // also(i, j, p): what else is to be done with numbers p from i on, those of sum j.
  template <class Also>
  RUV_INLINE static float weigh(const float* scores, const float* token_scale, int16_t* out,
                                int64_t n, float max, float unit, Also also) {
    const F m = V::set(max);
    const F u = V::set(unit);
    // As in exp_sum: a number's place alone says which of four sums takes it.
    F s[4] = {V::zero(), V::zero(), V::zero(), V::zero()};
    const auto take = [&](int64_t i, int j) __attribute__((always_inline)) {
      const F e = short_exp<V>(V::sub(V::load(scores + i), m));
      s[j] = V::add(s[j], e);
      also(i, j, e);
      V::store_int16(out + i, V::mul(e, V::mul(V::load(token_scale + i), u)));
    };
    int64_t i = 0;
    for (; i + 4 * L <= n; i += 4 * L) {
      RUV_UNROLL
      for (int j = 0; j < 4; ++j) take(i + j * L, j);
    }
    for (int j = 0; i < n; i += L, ++j) take(i, j);
    return V::sum(V::add(V::add(s[0], s[1]), V::add(s[2], s[3])));
  }

  // R rows, D vectors of the head from column `begin` on.
  template <int R, int D>
  static void value_block(const ByteValueArgs& a, int64_t r, int64_t begin) {
    I sums[R][D];
    RUV_UNROLL
    for (int i = 0; i < R; ++i) {
      RUV_UNROLL
      for (int c = 0; c < D; ++c) sums[i][c] = V::set_int(0);
    }
    for (int64_t page = 0; page < a.values.n_pages; ++page) {
      const auto* const values = static_cast<const int8_t*>(a.values.pages[page]) + begin * 2;
      const char* const ahead = r == 0 ? page_ahead(a.values, page, kDistance) : nullptr;
      const int16_t* const p = a.weights + r * a.weights_stride + page * kPageTokens;
      if (ahead != nullptr) {
        for (int64_t at = 0; at < D * L * kPageTokens; at += 64) {
          __builtin_prefetch(ahead + begin * kPageTokens + at);
        }
      }
      RUV_UNROLL
      for (int t = 0; t < kPageTokens; t += 2) {
        typename V::W value[D];
        RUV_UNROLL
        for (int c = 0; c < D; ++c) {
          value[c] = V::value_pairs(values + t * a.head_dim + c * L * 2);
        }
        RUV_UNROLL
        for (int i = 0; i < R; ++i) {
          const auto x = V::two_of(p + i * a.weights_stride + t);
          RUV_UNROLL
          for (int c = 0; c < D; ++c) sums[i][c] = V::dot_values(sums[i][c], value[c], x);
        }
      }
    }
    RUV_UNROLL
    for (int i = 0; i < R; ++i) {
      float* const to = a.out + (r + i) * a.out_stride + begin;
      const F scale = V::set(a.scale[r + i]);
      RUV_UNROLL
      for (int c = 0; c < D; ++c) V::store(to + c * L, V::mul(V::from_int(sums[i][c]), scale));
    }
  }

  // The last head_dim mod kLanes columns of one row.
  static void value_edge(const ByteValueArgs& a, int64_t r, int64_t begin) {
    const int64_t n = a.head_dim - begin;
    I sum = V::set_int(0);
    for (int64_t page = 0; page < a.values.n_pages; ++page) {
      const auto* const values = static_cast<const int8_t*>(a.values.pages[page]) + begin * 2;
      const int16_t* const p = a.weights + r * a.weights_stride + page * kPageTokens;
      for (int t = 0; t < kPageTokens; t += 2) {
        int8_t lanes[2 * L] = {};
        for (int64_t i = 0; i < 2 * n; ++i) lanes[i] = values[t * a.head_dim + i];
        sum = V::dot_values(sum, V::value_pairs(lanes), V::two_of(p + t));
      }
    }
    Part<V>().store(a.out + r * a.out_stride + begin, V::mul(V::from_int(sum), V::set(a.scale[r])),
                    n);
  }

  template <int R>
  static void value_rows(const ByteValueArgs& a, int64_t r) {
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

  static void values(const ByteValueArgs& a) {
    for_row_blocks<kBlockRows>(a.n_rows, [&](int64_t r, int n_block) {
      static constexpr decltype(&value_rows<1>) kRows[] = {
          value_rows<1>, value_rows<2>, value_rows<3>, value_rows<4>, value_rows<5>, value_rows<6>};
      kRows[n_block - 1](a, r);
    });
  }
};

}  // namespace
}  // namespace ruv
