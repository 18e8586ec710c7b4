// Tensors of selective scans on their way to a GGUF file, which keeps rates themselves and not
// their logarithms, and in its matrices what checkpoints multiply by in the config.
#pragma once

#include "format/gguf_export.h"

namespace ruv {

// Whether the factors of the config are multiplied into the tensors, so that their keys are left
// out.
bool has_scales_in_weights(const ModelFile& model);
// What becomes of a checkpoint's tensor; nothing where it stays as it is. Fails: not_found, corrupt
// (a shape that contradicts the config).
Result<std::vector<ExportTensor>> export_state_tensor(const ModelFile& model,
                                                      const TensorInfo& info);

}  // namespace ruv
