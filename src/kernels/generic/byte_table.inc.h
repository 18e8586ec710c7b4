// The entries of an instruction set's table that multiply integers in attention, over a policy V
// for pages of bytes and codes.
#pragma once

#include "kernels/generic/code_pages.inc.h"
#include "kernels/generic/wide_pages.inc.h"
#include "kernels/isa.h"

namespace ruv {
namespace {

template <class V>
constexpr Kernels byte_table(const char* isa, decltype(Kernels::int8_peak) peak) {
  return {
      .isa = isa,
      .quantize_head = Bytes<V>::quantize,
      .byte_scores = Pages<V, ByteNumbers<V>>::scores,
      .byte_weights = Bytes<V>::weights,
      .byte_values = values_of<V, ByteNumbers<V>, WideBytes>(),
      .code_scores = Codes<V>::scores,
      .code_weights = Codes<V>::weights,
      .code_values = Codes<V>::values,
      .int8_peak = peak,
  };
}

}  // namespace
}  // namespace ruv
