// One token of a linear attention whose memory is a matrix of keys and values, written once over a
// vector policy V. Values do not depend on each other, so vectors run along them; a value's sums
// have the order of the keys whatever the width of V. The matrix is read twice and written once.
#pragma once

#include "kernels/generic/tile.inc.h"
#include "kernels/kernels.h"

namespace ruv {
namespace {

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

}  // namespace
}  // namespace ruv
