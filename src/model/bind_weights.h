// Binds every tensor of a model's file to its role in the decoder.
#pragma once

#include "model/model.h"
#include "model/weight_source.h"

namespace ruv {

// Fills the weights and h.n_vocab of a model whose file, family, numbers and rope are set; may be
// called again. Fails: not_found, corrupt, unsupported, each naming the tensor; out_of_memory; what
// the packed file being written said.
Status bind_weights(Model& model, WeightSource& source);

}  // namespace ruv
