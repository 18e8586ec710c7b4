// The entries of an instruction set's table that compute in floats: element-wise kernels,
// reductions and attention over pages of halves, over a vector policy V.
#pragma once

#include "kernels/generic/pages.inc.h"
#include "kernels/generic/peaks.inc.h"
#include "kernels/isa.h"

namespace ruv {
namespace {

template <class V>
constexpr Kernels vector_table(const char* isa) {
  return {
      .isa = isa,
      .quantize_row = Vectors<V>::quantize_row,
      .rms_norm = Vectors<V>::rms_norm,
      .layer_norm = Vectors<V>::layer_norm,
      .add = Vectors<V>::add,
      .silu_gate = Vectors<V>::silu_gate,
      .gelu_gate = Vectors<V>::gelu_gate,
      .gelu = Vectors<V>::gelu,
      .rope_half = Vectors<V>::rope_half,
      .softcap = Vectors<V>::softcap,
      .exp_sum = Vectors<V>::exp_sum,
      .largest = Vectors<V>::largest,
      .page_scores = Pages<V, HalfNumbers<V>>::scores,
      .page_values = Pages<V, HalfNumbers<V>>::values,
      .blend = Vectors<V>::blend,
      .to_f16 = Vectors<V>::to_f16,
      .f32_peak = Peaks<V>::f32,
      .sum_words = V::sum_words,
  };
}

}  // namespace
}  // namespace ruv
