// ReadAhead: how far ahead of a multiplication the weights of a format are asked for. No result
// depends on it; the best distance differs between processors, and costs 10 % of a decode step on
// one that another was measured on.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace ruv {

struct ReadAhead {
  DType dtype = DType::f32;
  uint32_t n_bytes = 0;
  bool operator==(const ReadAhead&) const = default;
};

}  // namespace ruv
