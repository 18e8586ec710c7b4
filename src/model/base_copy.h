// What training tools save of the base beside an adapter: PEFT writes the matrix of an embedding or
// an output that has one. Mostly it is the base's own, and says nothing new.
#pragma once

#include "format/model_file.h"
#include "model/adapter.h"

namespace ruv {

// The tensor of the model's file that is this end, in tied models the same for both; null: none.
const TensorInfo* tensor_of(const Model& model, ModelEnd end);

// Whether `copy` is that matrix, but for what either file's format rounds away. Fails, without the
// file's name: invalid (another shape), unsupported (other numbers, naming the first such row).
Status check_base_copy(const Model& model, ModelEnd end, const TensorInfo& copy);

}  // namespace ruv
