// VectorCodes: what an index keeps of vectors to look at many of them with less memory and less of
// its traffic. The best by codes are measured again in float32.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "memory/metric.h"

namespace ruv {

enum class VectorCodes : uint8_t {
  none,
  int8,     // a byte for each number, and a scale for the vector
  f16,      // two bytes, and a scale that is a power of two
  int4,     // half a byte, and a scale
  binary,   // a bit: the sign; and the vector's length
  product,  // a byte for each four numbers: the nearest of 256 centres, learnt from vectors
};

// "none", "int8", "f16", "int4", "binary", "product".
std::string_view name_of(VectorCodes codes);
// Fails: invalid, with the names that there are.
Result<VectorCodes> vector_codes_of(std::string_view name);
// Whether distances can be had of such codes. Fails: unsupported, by name.
Status check(VectorCodes codes, Metric metric, int64_t n_dims);

// "l2", "cosine", "dot", "manhattan".
std::string_view name_of(Metric metric);
// Fails: invalid, with the names that there are.
Result<Metric> metric_of(std::string_view name);

}  // namespace ruv
