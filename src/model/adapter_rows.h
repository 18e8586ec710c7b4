// What a file's matrices of a layer say of the rows of one role, in the decoder's order.
#pragma once

#include "model/adapter.h"

namespace ruv {

struct RoleRows {
  MatrixRows b;                           // (rows of the role, rank)
  std::vector<float> magnitudes, biases;  // empty where the matrices have none
};

// `order` is that of the file's rows of q and k in heads that rotate. Requires: `m` has the role
// and fits the model.
RoleRows rows_of_role(const Model& model, const AdapterMatrices& m, Role role, RopeOrder order);

}  // namespace ruv
