// What a tensor of a checkpoint is to a decoder: its numbers stay where they are, but may be
// another shape's, or those of two roles (TensorName).
#pragma once

#include <vector>

#include "format/safetensors.h"
#include "format/tensor_names.h"

namespace ruv {

// One tensor, or two where `name` has another; as it is where its shape is none that the name's
// form fits. `tensor` has the shape of the file, and numbers that follow each other.
std::vector<TensorInfo> parts_of(TensorInfo tensor, const MappedName& name, int64_t n_experts);

// An MXFP4 tensor of its codes, (…, blocks, 16) bytes, and scales, (…, blocks), both inside a file.
// Fails: corrupt, without a name, where they do not fit each other.
Result<TensorInfo> joined_mxfp4(const SafetensorsTensor& codes, const SafetensorsTensor& scales);

}  // namespace ruv
