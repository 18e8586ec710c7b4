// Which matrices of a layer's experts the stacks of an adapter's file are (AdapterStack).
#pragma once

#include "format/adapter_file.h"
#include "format/tensor_names.h"
#include "model/adapter.h"

namespace ruv {

// "7" and "attn_q" of "blk.7.attn_q.weight"; nothing for other names.
std::optional<std::pair<int64_t, std::string_view>> tensor_in_layer(std::string_view tensor);

// Rows of a tensor: those of the file, or copies where their numbers do not follow each other or
// the file is not kept. Fails: out_of_memory.
Result<MatrixRows> adapter_rows_of(const TensorInfo& tensor, bool copies = false);

// A pair of matrices of each expert, of all of the file's stacks. Fails, without naming the file:
// invalid (the model has no such matrices, or of other shapes), unsupported (it could be matrices
// of either order); as adapter_rows_of.
Result<std::vector<AdapterMatrices>> matrices_of_stacks(const Model& model,
                                                        const TensorNames& names,
                                                        const AdapterFile& file);

}  // namespace ruv
