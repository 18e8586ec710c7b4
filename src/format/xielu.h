// The numbers of xIELU: checkpoints have them as tensors of each layer, GGUF files as arrays of all
// layers. Both hold two of them as x of ln(1 + exp(x)).
#pragma once

#include <vector>

#include "format/gguf_writer.h"
#include "format/model_file.h"
#include "tensor/nonlinear.h"

namespace ruv {

// Those of each layer. Fails: not_found, corrupt.
Result<std::vector<Xielu>> read_xielu(const ModelFile& file, int64_t n_layers);

// Whether a tensor holds one of them, under the name that it has here.
bool is_xielu_tensor(std::string_view name);
// Writes the arrays, where the file has such tensors. Fails: as read_xielu.
Status export_xielu(const ModelFile& file, GgufWriter& out);

}  // namespace ruv
