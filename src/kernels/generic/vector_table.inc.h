// The entries of an instruction set's table that compute in floats: element-wise kernels,
// reductions and attention over pages of halves, over a vector policy V.
#pragma once

#include <utility>

#include "kernels/generic/peaks.inc.h"
#include "kernels/generic/state.inc.h"
#include "kernels/generic/wide_pages.inc.h"
#include "kernels/isa.h"

namespace ruv {
namespace {

template <class V, size_t... kAct>
constexpr auto gates(std::index_sequence<kAct...>) {
  return decltype(Kernels::gate){Vectors<V>::template gate<Act{kAct}>...};
}
template <class V, size_t... kAct>
constexpr auto activations(std::index_sequence<kAct...>) {
  return decltype(Kernels::activate){Vectors<V>::template activate<Act{kAct}>...};
}

template <class V>
constexpr Kernels vector_table(const char* isa) {
  return {
      .isa = isa,
      .quantize_row = Vectors<V>::quantize_row,
      .rms_norm = Vectors<V>::rms_norm,
      .layer_norm = Vectors<V>::layer_norm,
      .add = Vectors<V>::add,
      .gate = gates<V>(std::make_index_sequence<kActs>()),
      .activate = activations<V>(std::make_index_sequence<kActs>()),
      .xielu = Vectors<V>::xielu,
      .rope_half = Vectors<V>::rope_half,
      .softcap = Vectors<V>::softcap,
      .exp_sum = Vectors<V>::exp_sum,
      .state_step = StateSteps<V>::step,
      .scan_step = ColumnScans<V>::step,
      .largest = Vectors<V>::largest,
      .page_scores = Pages<V, HalfNumbers<V>>::scores,
      .page_values = values_of<V, HalfNumbers<V>, WideHalves>(),
      .blend = Vectors<V>::blend,
      .to_f16 = Vectors<V>::to_f16,
      .f32_peak = Peaks<V>::f32,
      .sum_words = V::sum_words,
  };
}

}  // namespace
}  // namespace ruv
