// Attention over one page of 16 tokens. Several query rows share each key and value vector; the
// order of operations of one row is the same however many rows there are.
#pragma once

#include "kernels/generic/vectors.inc.h"

namespace ruv {
namespace {

template <class V, int R>
RUV_INLINE void score_rows(const float* q, int64_t q_stride, const uint16_t* keys, float* scores,
                           int64_t scores_stride, int64_t head_dim, typename V::F scale) {
  constexpr int kParts = kPageTokens / V::kLanes;
  // Two partial sums, by d mod 2, so that one row alone does not wait for every fma.
  typename V::F acc[R][2][kParts];
  RUV_UNROLL
  for (int r = 0; r < R; ++r) {
    for (int i = 0; i < kParts; ++i) acc[r][0][i] = acc[r][1][i] = V::zero();
  }
  int64_t d = 0;
  for (; d + 2 <= head_dim; d += 2) {
    RUV_UNROLL
    for (int odd = 0; odd < 2; ++odd) {
      RUV_UNROLL
      for (int i = 0; i < kParts; ++i) {
        const auto key = V::load_f16(keys + (d + odd) * kPageTokens + i * V::kLanes);
        RUV_UNROLL
        for (int r = 0; r < R; ++r) {
          acc[r][odd][i] = V::fma(key, V::set(q[r * q_stride + d + odd]), acc[r][odd][i]);
        }
      }
    }
  }
  if (d < head_dim) {
    RUV_UNROLL
    for (int i = 0; i < kParts; ++i) {
      const auto key = V::load_f16(keys + d * kPageTokens + i * V::kLanes);
      RUV_UNROLL
      for (int r = 0; r < R; ++r) {
        acc[r][0][i] = V::fma(key, V::set(q[r * q_stride + d]), acc[r][0][i]);
      }
    }
  }
  RUV_UNROLL
  for (int r = 0; r < R; ++r) {
    for (int i = 0; i < kParts; ++i) {
      V::store(scores + r * scores_stride + i * V::kLanes,
               V::mul(V::add(acc[r][0][i], acc[r][1][i]), scale));
    }
  }
}

// D vectors of the head, R rows.
template <class V, int R, int D>
RUV_INLINE void value_rows(const float* p, int64_t p_stride, const uint16_t* values, float* out,
                           int64_t out_stride, int64_t head_dim) {
  typename V::F acc[R][D];
  RUV_UNROLL
  for (int r = 0; r < R; ++r) {
    for (int i = 0; i < D; ++i) acc[r][i] = V::load(out + r * out_stride + i * V::kLanes);
  }
  for (int t = 0; t < kPageTokens; ++t) {
    RUV_UNROLL
    for (int i = 0; i < D; ++i) {
      const auto value = V::load_f16(values + t * head_dim + i * V::kLanes);
      RUV_UNROLL
      for (int r = 0; r < R; ++r) {
        acc[r][i] = V::fma(value, V::set(p[r * p_stride + t]), acc[r][i]);
      }
    }
  }
  RUV_UNROLL
  for (int r = 0; r < R; ++r) {
    for (int i = 0; i < D; ++i) V::store(out + r * out_stride + i * V::kLanes, acc[r][i]);
  }
}

// The last head_dim mod kLanes columns of one row.
template <class V>
void value_edge(const float* p, const uint16_t* values, float* out, int64_t n, int64_t head_dim) {
  Part<V> part;
  auto acc = part.load(out, n);
  for (int t = 0; t < kPageTokens; ++t) {
    uint16_t lanes[V::kLanes] = {};
    for (int64_t i = 0; i < n; ++i) lanes[i] = values[t * head_dim + i];
    acc = V::fma(V::load_f16(lanes), V::set(p[t]), acc);
  }
  part.store(out, acc, n);
}

// Asks for a whole page at once: pages lie anywhere, so nothing else fetches ahead.
RUV_INLINE void fetch_page(const uint16_t* page, int64_t head_dim) {
  const auto* bytes = reinterpret_cast<const char*>(page);
  for (int64_t at = 0; at < head_dim * kPageTokens * 2; at += 64) __builtin_prefetch(bytes + at);
}

template <class V>
struct Pages {
  static void scores(const float* q, int64_t q_stride, const uint16_t* keys, float* scores,
                     int64_t scores_stride, int64_t n_rows, int64_t head_dim, float scale) {
    fetch_page(keys, head_dim);
    const auto s = V::set(scale);
    int64_t r = 0;
    const auto pass = [&]<int R>() {
      for (; r + R <= n_rows; r += R) {
        score_rows<V, R>(q + r * q_stride, q_stride, keys, scores + r * scores_stride,
                         scores_stride, head_dim, s);
      }
    };
    if constexpr (V::kTileRows >= 8) pass.template operator()<8>();
    if constexpr (V::kLanes >= 16) pass.template operator()<4>();
    pass.template operator()<2>();
    pass.template operator()<1>();
  }

  static void values(const float* p, int64_t p_stride, const uint16_t* values, float* out,
                     int64_t out_stride, int64_t n_rows, int64_t head_dim) {
    constexpr int kWide = 4;
    fetch_page(values, head_dim);
    int64_t r = 0;
    const auto pass = [&]<int R>() {
      for (; r + R <= n_rows; r += R) {
        const float* weights = p + r * p_stride;
        float* to = out + r * out_stride;
        int64_t d = 0;
        for (; d + kWide * V::kLanes <= head_dim; d += kWide * V::kLanes) {
          value_rows<V, R, kWide>(weights, p_stride, values + d, to + d, out_stride, head_dim);
        }
        for (; d + V::kLanes <= head_dim; d += V::kLanes) {
          value_rows<V, R, 1>(weights, p_stride, values + d, to + d, out_stride, head_dim);
        }
        for (int i = 0; i < R && d < head_dim; ++i) {
          value_edge<V>(weights + i * p_stride, values + d, to + i * out_stride + d, head_dim - d,
                        head_dim);
        }
      }
    };
    if constexpr (V::kTileRows >= 8) pass.template operator()<4>();
    pass.template operator()<2>();
    pass.template operator()<1>();
  }
};

}  // namespace
}  // namespace ruv
