// Files of safetensors with numbers in float32.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace ruv {

struct FloatTensor {
  std::string name;
  std::span<const float> numbers;
  std::vector<int64_t> shape;  // whose product is how many numbers there are
};

// In their order; a file that is there is replaced once the new one is complete. Fails: as
// FileWriter.
Status write_float_tensors(const std::string& path, std::span<const FloatTensor> tensors);

}  // namespace ruv
