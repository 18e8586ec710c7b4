// Element-wise and reduction kernels, written once over a vector policy V. Every number goes
// through the same operations whatever the width of V: sums are those of Partials, functions those
// below.
#pragma once

#include "kernels/generic/tile.inc.h"
#include "kernels/kernels.h"

namespace ruv {
namespace {

// A row of fewer than kLanes numbers, moved through memory so that no lane reads past the end.
template <class V>
struct Part {
  alignas(64) float lanes[V::kLanes] = {};

  RUV_INLINE typename V::F load(const float* p, int64_t n) {
    for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
    return V::load(lanes);
  }
  RUV_INLINE void store(float* p, typename V::F x, int64_t n) {
    V::store(lanes, x);
    for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
  }
};

// x[i] = f(x[i])
template <class V, class Function>
RUV_INLINE void map(float* x, int64_t n, Function f) {
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) V::store(x + i, f(V::load(x + i)));
  if (i < n) {
    Part<V> part;
    part.store(x + i, f(part.load(x + i, n - i)), n - i);
  }
}

// x[i] = f(x[i], y[i])
template <class V, class Function>
RUV_INLINE void map(float* x, const float* y, int64_t n, Function f) {
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) V::store(x + i, f(V::load(x + i), V::load(y + i)));
  if (i < n) {
    Part<V> a;
    Part<V> b;
    a.store(x + i, f(a.load(x + i, n - i), b.load(y + i, n - i)), n - i);
  }
}

// The order of every sum along a row: 64 partial sums, number i added to partial i mod 64 in the
// order of i, then folded in halves: partial p with p + 16 and those sums, p + 32 with p + 48, lane
// l of 16 with l + 8, l + 4, l + 2, l + 1. Zeros at the end change nothing.
template <class V>
struct Partials {
  static constexpr int kVectors = 64 / V::kLanes;
  typename V::F sums[kVectors];

  RUV_INLINE Partials() {
    RUV_UNROLL
    for (int j = 0; j < kVectors; ++j) sums[j] = V::zero();
  }
  RUV_INLINE float total() const {
    constexpr int kParts = 16 / V::kLanes;  // vectors that hold 16 lanes
    typename V::F t[kParts];
    RUV_UNROLL
    for (int i = 0; i < kParts; ++i) {
      t[i] = V::add(V::add(sums[i], sums[kParts + i]),
                    V::add(sums[2 * kParts + i], sums[3 * kParts + i]));
    }
    static_assert(kParts <= 2);
    if constexpr (kParts == 2) t[0] = V::add(t[0], t[1]);
    return V::sum(t[0]);
  }
};

// Calls take(i, j) for every whole vector of n numbers: numbers from i on belong to partial sum j.
// Returns the first number of what is left.
template <class V, class Take>
RUV_INLINE int64_t for_partials(int64_t n, Take take) {
  constexpr int64_t L = V::kLanes;
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    RUV_UNROLL
    for (int j = 0; j < Partials<V>::kVectors; ++j) take(i + j * L, j);
  }
  for (int j = 0; i + L <= n; i += L, ++j) take(i, j);
  return i;
}

// Σ f(x[i])
template <class V, class Function>
RUV_INLINE float sum_of(const float* x, int64_t n, Function f) {
  Partials<V> p;
  const int64_t i = for_partials<V>(
      n, [&](int64_t at, int j)
             __attribute__((always_inline)) { p.sums[j] = V::add(p.sums[j], f(V::load(x + at))); });
  if (i < n) {
    Part<V> part;
    V::store(part.lanes, f(part.load(x + i, n - i)));
    for (int64_t j = n - i; j < V::kLanes; ++j) part.lanes[j] = 0;
    const auto j = static_cast<int>(i % 64 / V::kLanes);
    p.sums[j] = V::add(p.sums[j], V::load(part.lanes));
  }
  return p.total();
}

// exp(x) = 2^n · (1 + fraction), n integral in [-125, 129], x clamped to where that holds.
template <class V>
struct ExpParts {
  typename V::F half_power;  // 2^(n-1)
  typename V::F fraction;    // exp(r) - 1, |r| <= ln 2 / 2
};

constexpr float kExpMin = -86.5F;
constexpr float kExpMax = 88.8F;

// Taylor to degree 7: the first term left out is r^8/8! < 6e-9.
template <class V>
RUV_INLINE ExpParts<V> exp_parts(typename V::F x) {
  x = V::min(V::set(kExpMax), V::max(V::set(kExpMin), x));
  const auto n = V::round(V::mul(x, V::set(1.44269504088896341F)));
  auto r = V::fma(n, V::set(-0.693145751953125F), x);
  r = V::fma(n, V::set(-1.42860682030941723e-6F), r);
  auto p = V::set(1.0F / 5040);
  p = V::fma(p, r, V::set(1.0F / 720));
  p = V::fma(p, r, V::set(1.0F / 120));
  p = V::fma(p, r, V::set(1.0F / 24));
  p = V::fma(p, r, V::set(1.0F / 6));
  p = V::fma(p, r, V::set(0.5F));
  const auto fraction = V::fma(V::mul(p, r), r, r);
  return {V::power_of_two(V::sub(n, V::set(1.0F))), fraction};
}

// Relative error below 2e-7; 0 below kExpMin, infinity where float32 overflows.
template <class V>
RUV_INLINE typename V::F exp_of(typename V::F x) {
  const ExpParts<V> e = exp_parts<V>(x);
  const auto half = V::fma(e.half_power, e.fraction, e.half_power);
  return V::zero_below(V::add(half, half), x, V::set(kExpMin));
}

// exp(x) - 1 for x <= 0, exact for small x.
template <class V>
RUV_INLINE typename V::F exp_less_one(typename V::F x) {
  const ExpParts<V> e = exp_parts<V>(x);
  const auto power = V::add(e.half_power, e.half_power);
  return V::fma(power, e.fraction, V::sub(power, V::set(1.0F)));
}

// m / (m + 2), m = exp(2|x|) - 1, with the sign of x; exact for small x, 1 beyond 10.
template <class V>
RUV_INLINE typename V::F tanh_of(typename V::F x) {
  const auto y = V::min(V::set(20.0F), V::mul(V::abs(x), V::set(2.0F)));
  const ExpParts<V> e = exp_parts<V>(y);
  const auto power = V::add(e.half_power, e.half_power);
  const auto m = V::fma(power, e.fraction, V::sub(power, V::set(1.0F)));
  return V::with_sign_of(V::div(m, V::add(m, V::set(2.0F))), x);
}

template <class V>
RUV_INLINE typename V::F silu_of(typename V::F x) {
  const auto e = exp_of<V>(V::sub(V::zero(), x));
  return V::div(x, V::add(V::set(1.0F), e));
}

// 0.5x(1 + tanh(u)) = x / (1 + exp(-2u)), u = √(2/π)(x + 0.044715x³).
template <class V>
RUV_INLINE typename V::F gelu_of(typename V::F x) {
  const auto cubic = V::fma(V::mul(V::mul(x, x), x), V::set(0.044715F), x);
  const auto e = exp_of<V>(V::mul(cubic, V::set(-2.0F * 0.79788456080286535588F)));
  return V::div(x, V::add(V::set(1.0F), e));
}

// x / (1 + exp(-1.702x))
template <class V>
RUV_INLINE typename V::F quick_gelu_of(typename V::F x) {
  const auto e = exp_of<V>(V::mul(x, V::set(-1.702F)));
  return V::div(x, V::add(V::set(1.0F), e));
}

// x · Φ(x). The normal distribution's tail beyond |x| is exp(-x²/2) times a polynomial of
// 1 / (1 + c|x|) (Abramowitz and Stegun 7.1.26); Φ is within 8e-8.
template <class V>
RUV_INLINE typename V::F exact_gelu_of(typename V::F x) {
  const auto z = V::abs(x);
  const auto t =
      V::div(V::set(1.0F), V::fma(z, V::set(0.3275911F * 0.70710678118654752F), V::set(1.0F)));
  auto p = V::set(0.5F * 1.061405429F);
  p = V::fma(p, t, V::set(0.5F * -1.453152027F));
  p = V::fma(p, t, V::set(0.5F * 1.421413741F));
  p = V::fma(p, t, V::set(0.5F * -0.284496736F));
  p = V::fma(p, t, V::set(0.5F * 0.254829592F));
  const auto tail = V::mul(V::mul(p, t), exp_of<V>(V::mul(V::mul(x, x), V::set(-0.5F))));
  const auto lost = V::mul(V::min(V::set(30.0F), z), tail);  // tail is 0 beyond
  return V::sub(V::max(x, V::zero()), lost);
}

template <class V>
RUV_INLINE typename V::F relu_of(typename V::F x) {
  return V::max(V::zero(), x);
}

// 1 / (1 + exp(-x))
template <class V>
RUV_INLINE typename V::F sigmoid_of(typename V::F x) {
  const auto e = exp_of<V>(V::sub(V::zero(), x));
  return V::div(V::set(1.0F), V::add(V::set(1.0F), e));
}

template <class V, Act kAct>
RUV_INLINE typename V::F act_of(typename V::F x) {
  if constexpr (kAct == Act::silu) return silu_of<V>(x);
  if constexpr (kAct == Act::gelu_tanh) return gelu_of<V>(x);
  if constexpr (kAct == Act::gelu) return exact_gelu_of<V>(x);
  if constexpr (kAct == Act::quick_gelu) return quick_gelu_of<V>(x);
  if constexpr (kAct == Act::relu) return relu_of<V>(x);
  if constexpr (kAct == Act::relu2) return V::mul(relu_of<V>(x), relu_of<V>(x));
  if constexpr (kAct == Act::sigmoid) return sigmoid_of<V>(x);
  if constexpr (kAct == Act::tanh) return tanh_of<V>(x);
}

// x in [-127, 127], NaN as -127: conversions of what does not fit differ between machines.
template <class V>
RUV_INLINE typename V::F byte_range(typename V::F x) {
  return V::min(V::max(x, V::set(-127.0F)), V::set(127.0F));
}

template <class V>
struct Vectors {
  using F = typename V::F;
  static constexpr int L = V::kLanes;

  static void quantize_row(const float* x, ActBlock* out, int64_t k) {
    constexpr int kParts = 32 / L;
    for (int64_t b = 0; b < k / 32; ++b, x += 32) {
      F v[kParts];
      F largest = V::zero();
      RUV_UNROLL
      for (int i = 0; i < kParts; ++i) {
        v[i] = V::load(x + i * L);
        largest = V::max(V::abs(v[i]), largest);
      }
      const float max = V::greatest(largest);
      const float inverse = max > 0 ? 127.0F / max : 0.0F;
      out[b].scale = max / 127.0F;
      RUV_UNROLL
      for (int i = 0; i < kParts; ++i) {
        V::store_int8(out[b].q + i * L, byte_range<V>(V::mul(v[i], V::set(inverse))));
      }
      out[b].half_sum[0] = static_cast<int16_t>(V::sum_int8_16(out[b].q));
      out[b].half_sum[1] = static_cast<int16_t>(V::sum_int8_16(out[b].q + 16));
    }
  }

  static void rms_norm(const float* x, const float* weight, float* out, int64_t n, float eps) {
    const float squares = sum_of<V>(x, n, [](F v) { return V::mul(v, v); });
    const F scale = V::set(1.0F / __builtin_sqrtf(squares / static_cast<float>(n) + eps));
    int64_t i = 0;
    for (; i + L <= n; i += L) {
      V::store(out + i, V::mul(V::mul(V::load(x + i), scale), V::load(weight + i)));
    }
    if (i < n) {
      Part<V> a;
      Part<V> b;
      const F y = V::mul(V::mul(a.load(x + i, n - i), scale), b.load(weight + i, n - i));
      a.store(out + i, y, n - i);
    }
  }

  static void layer_norm(const float* x, const float* weight, const float* bias, float* out,
                         int64_t n, float eps) {
    const auto count = static_cast<float>(n);
    const F mean = V::set(sum_of<V>(x, n, [](F v) { return v; }) / count);
    const float squares = sum_of<V>(x, n, [mean](F v) {
      const F d = V::sub(v, mean);
      return V::mul(d, d);
    });
    const F scale = V::set(1.0F / __builtin_sqrtf(squares / count + eps));
    for (int64_t i = 0; i < n; i += L) {
      const int64_t m = n - i < L ? n - i : L;
      Part<V> part;
      const F centred = V::sub(m == L ? V::load(x + i) : part.load(x + i, m), mean);
      const F w = m == L ? V::load(weight + i) : part.load(weight + i, m);
      F y = V::mul(V::mul(centred, scale), w);
      if (bias != nullptr) y = V::add(y, m == L ? V::load(bias + i) : part.load(bias + i, m));
      m == L ? V::store(out + i, y) : part.store(out + i, y, m);
    }
  }

  static void add(float* x, const float* y, int64_t n) {
    map<V>(x, y, n, [](F a, F b) { return V::add(a, b); });
  }
  template <Act kAct>
  static void gate(float* gate, const float* up, int64_t n) {
    map<V>(gate, up, n, [](F g, F u) { return V::mul(act_of<V, kAct>(g), u); });
  }
  template <Act kAct>
  static void activate(float* x, int64_t n) {
    map<V>(x, n, [](F v) { return act_of<V, kAct>(v); });
  }
  static void xielu(float* x, int64_t n, const Xielu& a) {
    map<V>(x, n, [&a](F v) {
      const F above = V::max(v, V::zero());
      const F below = V::min(v, V::zero());
      const F lost = V::sub(exp_less_one<V>(V::min(below, V::set(a.last))), below);
      const F bent =
          V::zero_below(V::mul(lost, V::set(a.negative)), V::sub(V::zero(), v), V::zero());
      const F square = V::mul(V::mul(above, above), V::set(a.positive));
      return V::add(V::add(square, bent), V::mul(v, V::set(a.slope)));
    });
  }
  static void softcap(float* x, int64_t n, float cap) {
    map<V>(x, n, [cap](F v) { return V::mul(V::set(cap), tanh_of<V>(V::div(v, V::set(cap)))); });
  }

  static void rope_half(float* x, const float* cos, const float* sin, int64_t n_dims) {
    const int64_t half = n_dims / 2;
    float* y = x + half;
    for (int64_t i = 0; i < half; i += L) {
      const int64_t m = half - i < L ? half - i : L;
      Part<V> part;
      const bool whole = m == L;
      const F a = whole ? V::load(x + i) : part.load(x + i, m);
      const F b = whole ? V::load(y + i) : part.load(y + i, m);
      const F c = whole ? V::load(cos + i) : part.load(cos + i, m);
      const F s = whole ? V::load(sin + i) : part.load(sin + i, m);
      const F first = V::sub(V::mul(a, c), V::mul(b, s));
      const F second = V::add(V::mul(a, s), V::mul(b, c));
      whole ? V::store(x + i, first) : part.store(x + i, first, m);
      whole ? V::store(y + i, second) : part.store(y + i, second, m);
    }
  }

  static float exp_sum(float* x, int64_t n, float max) {
    const F m = V::set(max);
    Partials<V> p;
    for_partials<V>(
        n, [&](int64_t i, int j) __attribute__((always_inline)) {
          const F e = exp_of<V>(V::sub(V::load(x + i), m));
          V::store(x + i, e);
          p.sums[j] = V::add(p.sums[j], e);
        });
    return p.total();
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

  static void to_f16(const float* x, uint16_t* out, int64_t n) {
    int64_t i = 0;
    for (; i + L <= n; i += L) V::store_f16(out + i, V::load(x + i));
    if (i < n) {
      uint16_t lanes[L];
      V::store_f16(lanes, Part<V>().load(x + i, n - i));
      for (int64_t j = 0; i + j < n; ++j) out[i + j] = lanes[j];
    }
  }
};

}  // namespace
}  // namespace ruv
