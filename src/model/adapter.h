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
// Those of the two matrices at the ends of a model, after the products of layers.
enum class ModelEnd : uint8_t { token_embd, output };
constexpr size_t product_of(const HParams& h, ModelEnd end) {
  return static_cast<size_t>(h.n_layers) * kRoles + static_cast<size_t>(end);
}
constexpr size_t n_products(const HParams& h) { return product_of(h, ModelEnd::output) + 1; }

// One pair of matrices: scale · B · A is added to the weights of these roles.
struct AdapterMatrices {
  int64_t layer = 0;
  std::span<const Role> roles = {};      // whose rows B has; usually one
  MatrixRows a = {};                     // (rank, n_in)
  MatrixRows b = {};                     // (rows of all roles, rank)
  float scale = 1;                       // usually alpha / rank
  FusedOrder order = FusedOrder::parts;  // how the rows of several roles lie in B
  // What the length of each row of W + scale · B · A then is made (DoRA), by rows of B; W is the
  // model's. Empty: rows keep their length.
  std::vector<float> magnitudes = {};
  // Likewise, in place of the product's bias; empty: that stays. Without `has_own_biases` they must
  // be the model's, but for rounding.
  std::vector<float> biases = {};
  bool has_own_biases = false;
  // Set: of this matrix in place of a layer's; `a` of the embedding is (n_vocab, rank), and `b`
  // (n_embd, rank). A tied model's two ends are two matrices here.
  std::optional<ModelEnd> end = {};
  // Set: of this one's matrices; roles of experts, and no others, have one.
  std::optional<int64_t> expert = {};
};
// A matrix that takes the place of the model's, rows as the model has them.
struct WholeMatrix {
  ModelEnd end = ModelEnd::token_embd;
  MatrixRows rows;
};

// What a control vector adds to the stream after a layer.
struct LayerDirection {
  int64_t layer = 0;
  std::vector<float> numbers;  // (n_embd)
};

// An adapter with the model that it was made for, as a request has it.
struct LoadedAdapter {
  Adapter adapter;
  std::shared_ptr<const Model> model;
  AdapterInfo info = {};
  int64_t n_bytes = 0;                 // of device memory
  std::vector<FileStamp> stamps = {};  // of its files as they were read
};

// Whether the matrices have the shapes of the model's. Fails: invalid, unsupported, naming layer
// and role, as make_adapter.
Status check_shapes(const Model& model, const AdapterMatrices& m);

// Packs the matrices for the model's device, in their own formats; the host's are not needed
// afterwards, but rows for looking up that `owned` keeps. `order` is that of the rows of q and k in
// heads that rotate. Requires: each of `matrices` has a role or an end. Fails, naming layer and
// role: invalid (shapes that do not fit the model, a layer or matrix that it does not have, one
// that is there twice, a scale or direction that is not finite, a row without a length),
// unsupported (formats without a kernel, biases of a product that has none); out_of_memory.
Result<Adapter> make_adapter(const Model& model, std::span<const AdapterMatrices> matrices,
                             RopeOrder order, WorkerPool& pool,
                             std::span<const WholeMatrix> wholes = {},
                             std::span<const LayerDirection> directions = {});

}  // namespace ruv
