// One token of a recurrence whose memory is a matrix, written once over a vector policy V: of
// linear attention, keys and values; of a selective scan, states and columns. Values and columns do
// not depend on each other, so vectors run along them; a value's sums have the order of the keys
// whatever the width of V.
#pragma once

#include "kernels/generic/tile.inc.h"
#include "kernels/generic/vectors.inc.h"
#include "kernels/kernels.h"

namespace ruv {
namespace {

// The matrix is read twice where there is a memory, and written once.
template <class V>
struct StateSteps {
  using F = typename V::F;
  static constexpr int L = V::kLanes;

  // kN vectors of values from `at` on, the last of n_lanes numbers.
  template <int kN>
  RUV_INLINE static void columns(const StateStepArgs& a, int64_t at, int64_t n_lanes) {
    F memory[kN];
    F value[kN];
    F sum[kN];
    RUV_UNROLL
    for (int j = 0; j < kN; ++j) {
      memory[j] = V::zero();
      sum[j] = V::zero();
      value[j] = load_lanes<V>(a.value + at + j * L, n_lanes);
    }
    if (a.read != nullptr) {
      for (int64_t i = 0; i < a.n_keys; ++i) {
        const float* const row = a.state + i * a.n_values + at;
        const F read = V::set(a.read[i]);
        RUV_UNROLL
        for (int j = 0; j < kN; ++j) {
          memory[j] = V::fma(load_lanes<V>(row + j * L, n_lanes), read, memory[j]);
        }
      }
      RUV_UNROLL
      for (int j = 0; j < kN; ++j) store_lanes<V>(a.memory + at + j * L, memory[j], n_lanes);
    }
    const bool writes_memory = a.write != nullptr;
    for (int64_t i = 0; i < a.n_keys; ++i) {
      float* const row = a.state + i * a.n_values + at;
      const F keep = V::set(a.keep[i]);
      const F write = V::set(writes_memory ? a.write[i] : 0.0F);
      const F key = V::set(a.key[i]);
      const F query = V::set(a.query[i]);
      RUV_UNROLL
      for (int j = 0; j < kN; ++j) {
        F s = V::mul(load_lanes<V>(row + j * L, n_lanes), keep);
        if (writes_memory) s = V::fma(memory[j], write, s);
        s = V::fma(value[j], key, s);
        store_lanes<V>(row + j * L, s, n_lanes);
        sum[j] = V::fma(s, query, sum[j]);
      }
    }
    RUV_UNROLL
    for (int j = 0; j < kN; ++j) store_lanes<V>(a.out + at + j * L, sum[j], n_lanes);
  }

  static void step(const StateStepArgs& a) {
    int64_t at = 0;
    for (; at + 4 * L <= a.n_values; at += 4 * L) columns<4>(a, at, L);
    for (; at + L <= a.n_values; at += L) columns<1>(a, at, L);
    if (at < a.n_values) columns<1>(a, at, a.n_values - at);
  }
};

// Each number of the matrix has a decay of its own, which is most of the work.
template <class V>
struct ColumnScans {
  using F = typename V::F;
  static constexpr int L = V::kLanes;

  // kN vectors of columns from `at` on, the last of n_lanes numbers.
  template <int kN>
  RUV_INLINE static void columns(const ScanStepArgs& a, int64_t at, int64_t n_lanes) {
    F step[kN];
    F value[kN];
    F sum[kN];
    RUV_UNROLL
    for (int j = 0; j < kN; ++j) {
      step[j] = load_lanes<V>(a.step + at + j * L, n_lanes);
      value[j] = load_lanes<V>(a.value + at + j * L, n_lanes);
      sum[j] = V::zero();
    }
    for (int64_t i = 0; i < a.n_states; ++i) {
      float* const row = a.state + i * a.n_columns + at;
      const float* const rate = a.rate + i * a.rate_stride + at;
      const F b = V::set(a.b[i]);
      const F c = V::set(a.c[i]);
      RUV_UNROLL
      for (int j = 0; j < kN; ++j) {
        const F keep = exp_of<V>(V::mul(load_lanes<V>(rate + j * L, n_lanes), step[j]));
        const F old = V::mul(load_lanes<V>(row + j * L, n_lanes), keep);
        const F s = V::fma(value[j], b, old);
        store_lanes<V>(row + j * L, s, n_lanes);
        sum[j] = V::fma(s, c, sum[j]);
      }
    }
    RUV_UNROLL
    for (int j = 0; j < kN; ++j) store_lanes<V>(a.out + at + j * L, sum[j], n_lanes);
  }

  static void step(const ScanStepArgs& a) {
    int64_t at = 0;
    for (; at + 2 * L <= a.n_columns; at += 2 * L) columns<2>(a, at, L);
    for (; at + L <= a.n_columns; at += L) columns<1>(a, at, L);
    if (at < a.n_columns) columns<1>(a, at, a.n_columns - at);
  }
};

}  // namespace
}  // namespace ruv
