// Where the rows of a folder's tensors come from. The folder, whose files have their headers
// already, is read by its own reader and laid out as the GGUF file that it would become
// (format/gguf_export.h); the places that each row of that file would be read from are the places
// that it is written to.
#pragma once

#include <span>
#include <vector>

#include "format/model_file.h"
#include "format/safetensors.h"

namespace ruv {

struct RowSource {
  const TensorInfo* tensor = nullptr;  // of the GGUF file
  int64_t row = 0;                     // of `unit` numbers
};

// How one tensor of the folder is made.
struct StoredRows {
  const SafetensorsTensor* to = nullptr;
  int64_t unit = 0;         // numbers that move together
  bool transposed = false;  // number (i, j) is (j, i) of rows[0].tensor, which is all of it
  bool minus_one = false;   // numbers are those of the source less 1
  std::vector<RowSource> rows = {};  // in the order of the tensor's bytes
};

// One for each of `stored`, the tensors of the folder's files in their order. Fails: unsupported
// (a tensor of either side is left over or has another shape, a row is made in a way that has no
// inverse here), naming the tensor.
Result<std::vector<StoredRows>> row_sources(const ModelFile& source, const ModelFile& folder,
                                            std::span<const SafetensorsTensor> stored);

}  // namespace ruv
