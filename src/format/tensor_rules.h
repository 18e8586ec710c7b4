// TensorRule: the format that a user wants for the tensors of some names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/format.h"

namespace ruv {

// In a pattern * stands for any characters, none too, and ? for one; all of the name must fit.
struct TensorRule {
  std::string pattern;
  DType dtype = DType::f32;
};

// Reads "PATTERN=TYPE", "blk.*.ffn_down.weight=q6_k". Fails: invalid (no =, an empty pattern, a
// format that is unknown or not written).
Result<TensorRule> parse_tensor_rule(std::string_view text);

// Takes time of at most the product of the lengths.
bool fits_pattern(std::string_view name, std::string_view pattern);

}  // namespace ruv
