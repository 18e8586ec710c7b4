// Attention over pages of 4-bit and 2-bit codes: those of int8 pages with several words of keys, or
// more tokens' values, in the same bytes. Shifts and masks take them apart in registers.
#pragma once

#include "kernels/generic/byte_pages.inc.h"

namespace ruv {
namespace {

// Codes of one page of one head, kBits each: keys (ceil(head_dim / 4 kWords), kPageTokens, 4),
// values (kPageTokens / kTokens, head_dim) of 32 bits.
template <class V, int kBits>
struct CodeNumbers {
  using F = typename V::F;
  using B = typename V::B;
  using Sum = typename V::I;
  using KeyArgs = CodeScoreArgs;
  using ValueArgs = CodeValueArgs;
  using Weight = int16_t;
  static constexpr int64_t kDistance = ByteNumbers<V>::kDistance;
  static constexpr int kKeyBytes = 4;
  static constexpr int kWords = 8 / kBits;
  static constexpr int kStepsAtOnce = 1;
  static constexpr int kColumnBytes = 4;
  static constexpr int kTokens = 32 / kBits;
  static constexpr int kAtOnce = 2;
  static constexpr bool kUnrolled = true;
  static constexpr int kMask = (1 << kBits) - 1;
  static constexpr int kOffset = 1 << (kBits - 1);

  RUV_INLINE static int64_t n_key_steps(int64_t head_dim) {
    return (head_dim + 4 * kWords - 1) / (4 * kWords);
  }
  RUV_INLINE static Sum first_score(const KeyArgs& a, int64_t r) {
    return V::set_int(-kOffset * a.q_sum[r]);
  }
  // Word `at` of those that share bytes.
  RUV_INLINE static B key(const std::byte* p, int at) {
    const B x = V::load_bytes(p);
    if constexpr (kBits == 4) {
      return at == 0 ? V::low_nibbles(x) : V::high_nibbles(x);
    } else {
      return at == 0   ? V::template pair<0, 0>(x)
             : at == 1 ? V::template pair<2, 0>(x)
             : at == 2 ? V::template pair<4, 0>(x)
                       : V::template pair<6, 0>(x);
    }
  }
  RUV_INLINE static auto query(const int8_t* q, int64_t word) { return V::four_of(q + word * 4); }
  template <class Query>
  RUV_INLINE static Sum add_score(Sum sum, B key, Query x) {
    return V::dot_codes(sum, key, x);
  }
  RUV_INLINE static F score(const KeyArgs& a, int64_t r, int64_t t, Sum sum) {
    const F scaled = V::mul(V::from_int(sum), V::load(a.key_scale + t));
    const F middle = V::mul(V::load(a.key_middle + t), V::set(static_cast<float>(a.q_sum[r])));
    return V::mul(V::add(scaled, middle), V::set(a.q_scale[r]));
  }

  RUV_INLINE static Sum first_sum() { return V::set_int(0); }
  // Tokens kFirst and kFirst + 1 of the words at p.
  template <int kFirst>
  RUV_INLINE static auto values(const std::byte* p) {
    constexpr int kShift = kFirst / 2 * kBits;
    return V::template code_pairs<kShift, kMask>(reinterpret_cast<const uint32_t*>(p));
  }
  RUV_INLINE static auto weight(const int16_t* p) { return V::two_of(p); }
  template <class Value, class Two>
  RUV_INLINE static Sum add_values(Sum sum, Value value, Two x) {
    return V::dot_values(sum, value, x);
  }
  RUV_INLINE static F value(const ValueArgs& a, int64_t r, Sum sum) {
    return V::add(V::mul(V::from_int(sum), V::set(a.scale[r])), V::set(a.offset[r]));
  }
};

template <class V>
struct Codes {
  using F = typename V::F;

  static void scores(const CodeScoreArgs& a) {
    a.bits == 4 ? Pages<V, CodeNumbers<V, 4>>::scores(a) : Pages<V, CodeNumbers<V, 2>>::scores(a);
  }
  static void values(const CodeValueArgs& a) {
    a.bits == 4 ? Pages<V, CodeNumbers<V, 4>>::values(a) : Pages<V, CodeNumbers<V, 2>>::values(a);
  }
  static CodeWeights weights(const float* scores, const float* token_scale, const float* token_low,
                             int16_t* out, int64_t n, float max, float unit) {
    Partials<V> lows;
    const float sum = Bytes<V>::weigh(
        scores, token_scale, out, n, max,
        unit, [&](int64_t i, int j, F p) __attribute__((always_inline)) {
          lows.sums[j] = V::fma(p, V::load(token_low + i), lows.sums[j]);
        });
    return {sum, lows.total()};
  }
};

}  // namespace
}  // namespace ruv
