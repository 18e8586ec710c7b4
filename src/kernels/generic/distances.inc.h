// Distances of floats over a vector policy V: 64 chains are as many vectors as hold them.
#pragma once

#include "kernels/distances.h"
#include "kernels/generic/tile.inc.h"

namespace ruv {
namespace {

constexpr int64_t kChains = 64;
constexpr int64_t kLeastStep = 16;  // numbers that vectors are filled up to
constexpr int64_t kRowsAhead = 3;   // rows that are asked for early
constexpr int64_t kLineBytes = 64;
constexpr int64_t kLinesAhead = 16;  // of each; the processor follows a row by itself

template <class Number>
RUV_INLINE void ask_for(const Number* row, int64_t n) {
  const auto* const bytes = reinterpret_cast<const char*>(row);
  const int64_t n_bytes = n * static_cast<int64_t>(sizeof(Number));
  for (int64_t at = 0; at < n_bytes && at < kLinesAhead * kLineBytes; at += kLineBytes) {
    __builtin_prefetch(bytes + at);
  }
}

// f(row, place in out) for each row.
template <class Number, class F>
RUV_INLINE void each_vector(const Number* const* rows, int64_t n_rows, int64_t n, F&& f) {
  for (int64_t i = 0; i < n_rows && i < kRowsAhead; ++i) ask_for(rows[i], n);
  for (int64_t i = 0; i < n_rows; ++i) {
    if (i + kRowsAhead < n_rows) ask_for(rows[i + kRowsAhead], n);
    f(rows[i], i);
  }
}

struct SquaredDifference {
  template <class V>
  RUV_INLINE static typename V::F add(typename V::F q, typename V::F x, typename V::F sum) {
    const typename V::F d = V::sub(q, x);
    return V::fma(d, d, sum);
  }
};
struct Product {
  template <class V>
  RUV_INLINE static typename V::F add(typename V::F q, typename V::F x, typename V::F sum) {
    return V::fma(q, x, sum);
  }
};
struct AbsoluteDifference {
  template <class V>
  RUV_INLINE static typename V::F add(typename V::F q, typename V::F x, typename V::F sum) {
    return V::add(sum, V::abs(V::sub(q, x)));
  }
};

// Rows of float32, and of f16 with a scale.
template <class V>
struct FloatRow {
  using Number = float;
  RUV_INLINE typename V::F load(const float* x) const { return V::load(x); }
};
template <class V>
struct HalfRow {
  using Number = uint16_t;
  typename V::F scale;
  RUV_INLINE typename V::F load(const uint16_t* x) const { return V::mul(V::load_f16(x), scale); }
};

// Adds 16 numbers of each to 16 chains.
template <class V, class Term, class Row>
RUV_INLINE void add_sixteen(const float* q, const typename Row::Number* x, const Row& row,
                            typename V::F* sums) {
  RUV_UNROLL
  for (int v = 0; v < kLeastStep / V::kLanes; ++v) {
    sums[v] =
        Term::template add<V>(V::load(q + v * V::kLanes), row.load(x + v * V::kLanes), sums[v]);
  }
}

template <class V, class Term, class Row>
RUV_INLINE float distance_of(const float* q, const typename Row::Number* x, const Row& row,
                             int64_t n) {
  constexpr int kVectors = kChains / V::kLanes;
  constexpr int kOfSixteen = kLeastStep / V::kLanes;
  typename V::F sums[kVectors];
  RUV_UNROLL
  for (int v = 0; v < kVectors; ++v) sums[v] = V::zero();
  int64_t i = 0;
  for (; i + kChains <= n; i += kChains) {
    RUV_UNROLL
    for (int part = 0; part < kChains / kLeastStep; ++part) {
      add_sixteen<V, Term>(q + i + part * kLeastStep, x + i + part * kLeastStep, row,
                           sums + part * kOfSixteen);
    }
  }
  RUV_UNROLL
  for (int part = 0; part < kChains / kLeastStep - 1; ++part) {
    if (i + part * kLeastStep >= n) break;
    add_sixteen<V, Term>(q + i + part * kLeastStep, x + i + part * kLeastStep, row,
                         sums + part * kOfSixteen);
  }
  RUV_UNROLL
  for (int half = kVectors / 2; half > 0; half /= 2) {
    RUV_UNROLL
    for (int v = 0; v < half; ++v) sums[v] = V::add(sums[v], sums[v + half]);
  }
  return V::sum(sums[0]);
}

template <class V, class Term>
void distances(const float* query, const float* const* rows, int64_t n_rows, int64_t n,
               float* out) {
  each_vector(rows, n_rows, n, [&](const float* row, int64_t i) {
    out[i] = distance_of<V, Term>(query, row, FloatRow<V>(), n);
  });
}

template <class V, class Term>
void half_distances(const float* query, const uint16_t* const* rows, const float* scales,
                    int64_t n_rows, int64_t n, float* out) {
  each_vector(rows, n_rows, n, [&](const uint16_t* row, int64_t i) {
    out[i] = distance_of<V, Term>(query, row, HalfRow<V>{V::set(scales[i])}, n);
  });
}

RUV_INLINE int32_t differing_bits(const uint8_t* q, const uint8_t* x, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; i += 8) {
    uint64_t a;
    uint64_t b;
    __builtin_memcpy(&a, q + i, 8);
    __builtin_memcpy(&b, x + i, 8);
    sum += __builtin_popcountll(a ^ b);
  }
  return static_cast<int32_t>(sum);
}

inline void hamming_distances(const uint8_t* query, const uint8_t* const* rows, int64_t n_rows,
                              int64_t n, int32_t* out) {
  each_vector(rows, n_rows, n,
              [&](const uint8_t* row, int64_t i) { out[i] = differing_bits(query, row, n); });
}

// Four terms for each centre, one after the other.
template <class V, class Term>
void parts(const float* query, const float* centres, int64_t n_parts, float* out) {
  for (int64_t part = 0; part < n_parts; ++part) {
    const float* const q = query + part * kNumbersOfPart;
    const float* const c = centres + part * kNumbersOfPart * kCentresOfPart;
    for (int64_t at = 0; at < kCentresOfPart; at += V::kLanes) {
      typename V::F sum = V::zero();
      RUV_UNROLL
      for (int64_t d = 0; d < kNumbersOfPart; ++d) {
        sum = Term::template add<V>(V::set(q[d]), V::load(c + d * kCentresOfPart + at), sum);
      }
      V::store(out + part * kCentresOfPart + at, sum);
    }
  }
}

// Numbers of a table under codes, for instruction sets that cannot gather them.
template <class V>
struct Looked {
  RUV_INLINE static typename V::F up(const float* table, const uint8_t* codes) {
    float numbers[V::kLanes];
    RUV_UNROLL
    for (int i = 0; i < V::kLanes; ++i) numbers[i] = table[i * kCentresOfPart + codes[i]];
    return V::load(numbers);
  }
};

template <class V, class Look>
void sum_parts(const float* table, const uint8_t* const* rows, int64_t n_rows, int64_t n_parts,
               float* out) {
  constexpr int kVectors = kLeastStep / V::kLanes;
  each_vector(rows, n_rows, n_parts, [&](const uint8_t* row, int64_t i) {
    typename V::F sums[kVectors];
    RUV_UNROLL
    for (int v = 0; v < kVectors; ++v) sums[v] = V::zero();
    for (int64_t part = 0; part < n_parts; part += kLeastStep) {
      RUV_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const int64_t at = part + v * V::kLanes;
        sums[v] = V::add(sums[v], Look::up(table + at * kCentresOfPart, row + at));
      }
    }
    RUV_UNROLL
    for (int half = kVectors / 2; half > 0; half /= 2) {
      RUV_UNROLL
      for (int v = 0; v < half; ++v) sums[v] = V::add(sums[v], sums[v + half]);
    }
    out[i] = V::sum(sums[0]);
  });
}

template <class V, class Look = Looked<V>>
constexpr DistanceKernels distance_table(const char* isa) {
  return {.isa = isa,
          .l2 = distances<V, SquaredDifference>,
          .dot = distances<V, Product>,
          .manhattan = distances<V, AbsoluteDifference>,
          .hamming = hamming_distances,
          .l2_half = half_distances<V, SquaredDifference>,
          .dot_half = half_distances<V, Product>,
          .manhattan_half = half_distances<V, AbsoluteDifference>,
          .l2_parts = parts<V, SquaredDifference>,
          .dot_parts = parts<V, Product>,
          .manhattan_parts = parts<V, AbsoluteDifference>,
          .sum_parts = sum_parts<V, Look>};
}

}  // namespace
}  // namespace ruv
