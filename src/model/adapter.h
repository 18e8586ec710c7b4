// Makes an Adapter (device/adapter.h) for a model from matrices on the host, as files of adapters
// have them: the B rows of projections that the file fuses, or whose heads it orders for rotating
// neighbours, are put in the decoder's order as the model's own rows are.
#pragma once

#include "base/file.h"
#include "base/worker_pool.h"
#include "device/adapter.h"
#include "model/model.h"
#include "model/weight_source.h"
#include "ruv/adapter.h"

namespace ruv {

// The number of a product in Adapter::products.
constexpr size_t product_of(int64_t layer, Role role) {
  return static_cast<size_t>(layer) * kRoles + static_cast<size_t>(role);
}

// One pair of matrices: scale · B · A is added to the weights of these roles.
struct AdapterMatrices {
  int64_t layer = 0;
  std::span<const Role> roles;           // whose rows B has; usually one
  MatrixRows a;                          // (rank, n_in)
  MatrixRows b;                          // (rows of all roles, rank)
  float scale = 1;                       // usually alpha / rank
  FusedOrder order = FusedOrder::parts;  // how the rows of several roles lie in B
};

// An adapter with the model that it was made for, as a request has it.
struct LoadedAdapter {
  Adapter adapter;
  std::shared_ptr<const Model> model;
  AdapterInfo info = {};
  int64_t n_bytes = 0;                 // of device memory
  std::vector<FileStamp> stamps = {};  // of its files as they were read
};

// Packs the matrices for the model's device, in their own formats; the host's are not needed
// afterwards. `order` is that of the rows of q and k in heads that rotate. Requires: each of
// `matrices` has a role. Fails, naming layer and role: invalid (shapes that do not fit the model, a
// layer or matrix that it does not have, one that is there twice, a scale that is not finite),
// unsupported (formats without a kernel); out_of_memory.
Result<Adapter> make_adapter(const Model& model, std::span<const AdapterMatrices> matrices,
                             RopeOrder order, WorkerPool& pool);

}  // namespace ruv
