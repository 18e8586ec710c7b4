// What all tiles share: forced unrolling and inlining, edge stores, the row block. Included first.
#pragma once

#include <cstdint>

#if defined(__clang__)
#define RUV_UNROLL _Pragma("unroll")
#else
#define RUV_UNROLL _Pragma("GCC unroll 16")
#endif
#define RUV_INLINE [[gnu::always_inline]] inline

namespace ruv {
namespace {

template <class V>
RUV_INLINE void store_lanes(float* out, typename V::F value, int64_t n_lanes) {
  if (n_lanes >= V::kLanes) {
    V::store(out, value);
  } else {
    float lanes[V::kLanes];
    V::store(lanes, value);
    for (int64_t i = 0; i < n_lanes; ++i) out[i] = lanes[i];
  }
}

// Where a tile's sums are kept between stretches of K: the output itself.
template <class V>
RUV_INLINE typename V::F load_lanes(const float* from, int64_t n_lanes) {
  if (n_lanes >= V::kLanes) return V::load(from);
  float lanes[V::kLanes] = {};
  for (int64_t i = 0; i < n_lanes; ++i) lanes[i] = from[i];
  return V::load(lanes);
}

// Activation rows kept in the second-level cache while all groups pass over them.
constexpr int64_t kRowBlockBytes = 384 << 10;

}  // namespace
}  // namespace ruv
