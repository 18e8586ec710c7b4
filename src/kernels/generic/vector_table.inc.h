// The element-wise, reduction and attention entries of an instruction set's table: a vector policy
// V, and one for pages of integers.
#pragma once

#include "kernels/generic/code_pages.inc.h"
#include "kernels/generic/peaks.inc.h"
#include "kernels/isa.h"

namespace ruv {
namespace {

template <class V, class ByteV>
constexpr Kernels vector_table(const char* isa) {
  return {
      .isa = isa,
      .gemm = {},
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
      .quantize_head = Bytes<ByteV>::quantize,
      .byte_scores = Pages<ByteV, ByteNumbers<ByteV>>::scores,
      .byte_weights = Bytes<ByteV>::weights,
      .byte_values = Pages<ByteV, ByteNumbers<ByteV>>::values,
      .code_scores = Codes<ByteV>::scores,
      .code_weights = Codes<ByteV>::weights,
      .code_values = Codes<ByteV>::values,
      .to_f16 = Vectors<V>::to_f16,
      .to_bf16 = nullptr,
      .int8_peak = V::int8_peak,
      .f32_peak = Peaks<V>::f32,
      .bf16_peak = nullptr,
      .sum_words = V::sum_words,
  };
}

}  // namespace
}  // namespace ruv
