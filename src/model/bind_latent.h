// The matrices of latent attention that files keep in another form than the decoder wants.
#pragma once

#include "model/model.h"
#include "model/weight_source.h"

namespace ruv {

// Whether bind_latent gives the layer the role's matrices.
constexpr bool is_bound_by_latent(Role role) {
  return role == Role::q_plain || role == Role::q_rope || role == Role::k_b || role == Role::v_b;
}

// Queries, of which files have both parts of each head side by side; and the matrices from short
// rows to keys and values: of each head, where a file has them (attn_k_b is stored transposed), or
// all in one (attn_kv_b). Requires: the layer is latent. Fails: as WeightSource::matrix and pack.
Status bind_latent(const Model& model, int64_t layer, WeightSource& source, LayerWeights& weights);

// The layer norm of an index's keys, in the order of its rows. `name` lacks its ending. Fails: as
// WeightSource::vector and upload.
Status bind_index_norm(const Model& model, const LayerPlan& plan, const std::string& name,
                       WeightSource& source, NormWeights& norm);

}  // namespace ruv
