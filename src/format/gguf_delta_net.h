// Tensors of linear attention on their way to a GGUF file, which keeps them in another form than
// checkpoints: the rate of forgetting itself and not its logarithm, queries, keys and values apart
// from the gate, and in some families value heads in another order.
#pragma once

#include "format/gguf_export.h"

namespace ruv {

// What becomes of a checkpoint's tensor; nothing where it stays as it is. Fails: not_found, corrupt
// (a shape that contradicts the head counts).
Result<std::vector<ExportTensor>> export_delta_tensor(const ModelFile& model,
                                                      const TensorInfo& info);

}  // namespace ruv
