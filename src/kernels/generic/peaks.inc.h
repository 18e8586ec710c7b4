// The most float32 multiply-adds a vector policy does: the yardstick of float matmuls.
#pragma once

#include "kernels/generic/tile.inc.h"

namespace ruv {
namespace {

template <class V>
struct Peaks {
  // Twelve chains: two pipes with up to six cycles' latency, and as many as sixteen registers
  // hold. Their starts differ, or the compiler would merge them.
  static int64_t f32(int64_t rounds, float* sink) {
    typename V::F acc[12];
    RUV_UNROLL
    for (int i = 0; i < 12; ++i) acc[i] = V::set(*sink + static_cast<float>(i));
    const typename V::F half = V::set(*sink * 0.0F + 0.5F);
    for (int64_t round = 0; round < rounds; ++round) {
      RUV_UNROLL
      for (int i = 0; i < 12; ++i) acc[i] = V::fma(acc[i], half, half);
    }
    RUV_UNROLL
    for (int i = 1; i < 12; ++i) acc[0] = V::add(acc[0], acc[i]);
    *sink = V::sum(acc[0]);
    return rounds * 12 * V::kLanes;
  }
};

}  // namespace
}  // namespace ruv
