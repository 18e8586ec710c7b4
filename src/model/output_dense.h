// The dense layer that last states pass before the output matrix (BlockSpec::output_dense):
// norm(act(weight · x + bias)).
#pragma once

#include "model/model.h"

namespace ruv {

class WeightSource;

// Fails: not_found, corrupt (a tensor is missing or has another shape), unsupported.
Status bind_output_dense(Model& model, WeightSource& source);

// What the layer makes of these rows, in as many rows of `to`.
View pass_output_dense(Ops& ops, const Model& model, View states, View to);

}  // namespace ruv
