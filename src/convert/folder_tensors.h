// The tensors of a folder for transformers, by name, type and shape: the inverse of the names and
// parts that format/tensor_names.h and format/tensor_parts.h read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/model_file.h"

namespace ruv {

struct FolderTensor {
  std::string name;  // as transformers calls it
  DType dtype = DType::f32;
  std::vector<int64_t> shape;  // rows first

  uint64_t n_bytes() const;
};

// In the order of the file's own tensors. `dequantized`: the type of those whose numbers are in
// blocks. Requires: the family is known. Fails: unsupported (no name in such a folder, or blocks
// and no type for them), naming the tensor.
Result<std::vector<FolderTensor>> folder_tensors(const ModelFile& in,
                                                 std::optional<DType> dequantized);

}  // namespace ruv
