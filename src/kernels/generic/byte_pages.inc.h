// Attention over int8 pages: integer dot products of query bytes with four dimensions of sixteen
// keys at a time, and of int16 weights with two tokens' values at a time. Integer sums are exact.
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

// Pages of int8: keys (ceil(head_dim / 4), kPageTokens, 4), values (kPageTokens / 2, head_dim, 2).
// V has the members of an integer policy (bytes of x86/avx512_bytes.inc.h and its like).
template <class V>
struct ByteNumbers {
  using F = typename V::F;
  using Sum = typename V::I;
  using KeyArgs = ByteScoreArgs;
  using ValueArgs = ByteValueArgs;
  using Weight = int16_t;
  static constexpr int64_t kDistance = 16;  // these pages take a fraction of an f16 page's time
  static constexpr int kKeyBytes = 4;
  static constexpr int kWords = 1;
  static constexpr int kStepsAtOnce = V::kByteStepsAtOnce;
  static constexpr int kColumnBytes = 2;
  static constexpr int kTokens = 2;
  static constexpr int kAtOnce = 2;
  static constexpr bool kUnrolled = true;

  RUV_INLINE static int64_t n_key_steps(int64_t head_dim) { return (head_dim + 3) / 4; }
  RUV_INLINE static Sum first_score(const KeyArgs& a, int64_t r) {
    return V::set_int(-V::kKeyOffset * a.q_sum[r]);
  }
  RUV_INLINE static auto key(const std::byte* p, int) {
    return V::key_words(reinterpret_cast<const uint8_t*>(p));
  }
  RUV_INLINE static auto query(const int8_t* q, int64_t word) { return V::four_of(q + word * 4); }
  template <class Key, class Query>
  RUV_INLINE static Sum add_score(Sum sum, Key key, Query x) {
    return V::dot_keys(sum, key, x);
  }
  RUV_INLINE static F score(const KeyArgs& a, int64_t r, int64_t t, Sum sum) {
    return V::mul(V::mul(V::from_int(sum), V::load(a.key_scale + t)), V::set(a.q_scale[r]));
  }

  RUV_INLINE static Sum first_sum() { return V::set_int(0); }
  template <int>
  RUV_INLINE static auto values(const std::byte* p) {
    return V::value_pairs(reinterpret_cast<const int8_t*>(p));
  }
  RUV_INLINE static auto weight(const int16_t* p) { return V::two_of(p); }
  template <class Value, class Two>
  RUV_INLINE static Sum add_values(Sum sum, Value value, Two x) {
    return V::dot_values(sum, value, x);
  }
  RUV_INLINE static F value(const ValueArgs& a, int64_t r, Sum sum) {
    return V::mul(V::from_int(sum), V::set(a.scale[r]));
  }
};

// What goes into pages of integers, and the weights of their values.
template <class V>
struct Bytes {
  using F = typename V::F;
  static constexpr int L = V::kLanes;

  static HeadQuant quantize(const float* x, int8_t* q, int64_t n) {
    F most = V::zero();
    int64_t i = 0;
    for (; i + L <= n; i += L) most = V::max(V::abs(V::load(x + i)), most);
    if (i < n) most = V::max(V::abs(Part<V>().load(x + i, n - i)), most);
    const float max = V::greatest(most);
    const float scale = scale_of_bytes(max);
    const F inverse = V::set(scale > 0 ? 1.0F / scale : 0.0F);
    int32_t sum = 0;
    for (i = 0; i + L <= n; i += L) {
      V::store_int8(q + i, byte_range<V>(V::mul(V::load(x + i), inverse)));
    }
    if (i < n) {
      int8_t lanes[L];
      V::store_int8(lanes, byte_range<V>(V::mul(Part<V>().load(x + i, n - i), inverse)));
      for (int64_t j = 0; i + j < n; ++j) q[i + j] = lanes[j];
    }
    for (i = 0; i < n; ++i) sum += q[i];
    return {scale, sum};
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
    Partials<V> p;
    for_partials<V>(
        n, [&](int64_t i, int j) __attribute__((always_inline)) {
          const F e = short_exp<V>(V::sub(V::load(scores + i), m));
          p.sums[j] = V::add(p.sums[j], e);
          also(i, j, e);
          V::store_int16(out + i, V::mul(e, V::mul(V::load(token_scale + i), u)));
        });
    return p.total();
  }
};

}  // namespace
}  // namespace ruv
