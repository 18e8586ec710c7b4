// Adapter: what one fine-tuning adds to the products of a model, as matrices of low rank on a
// device, or a control vector to its stream. A step computes any mix of adapters beside one copy of
// the model's weights.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "device/weight.h"

namespace ruv {

// Added to a product of x: scale · B · (A · x). With factors the sum then becomes factors · sum +
// shifts, column by column, so that each row of the product's matrix can have a length of its own.
struct LowRank {
  Weight a;  // (rank, n_in); of an embedding plain rows (n_in, rank), one of each token
  Weight b;  // (n_out, rank)
  float scale = 0;
  // (n_out). No factors: the sum stays as it is; no shifts: zeros.
  Vector factors = {}, shifts = {};

  bool empty() const { return b.empty(); }
  int64_t rank() const { return b.n_in; }
};

// One entry for each product that a step of the model computes, empty where nothing is added.
// Which number a product has is the model's affair (model/adapter.h). Immutable once made.
struct Adapter {
  std::vector<LowRank> products;
  // By product, for those that each expert has a matrix of: what is added to that of each. No
  // lists: the adapter has none of experts; an empty list: none of that product.
  std::vector<std::vector<LowRank>> experts = {};
  // By layer, (n_embd): added to the stream after it (a control vector). Empty ones add nothing.
  std::vector<Vector> directions = {};
  // In place of the model's own: plain rows, and packed. Empty: the model's.
  Weight token_embd = {}, output = {};
  uint64_t key = 0;  // a hash of the contents: what is computed with equal ones is equal

  // The largest rank of an entry.
  int64_t max_rank() const {
    int64_t most = 0;
    for (const LowRank& added : products) most = std::max(most, added.rank());
    for (const std::vector<LowRank>& each : experts) {
      for (const LowRank& added : each) most = std::max(most, added.rank());
    }
    return most;
  }
  bool has_factors() const {
    return std::ranges::any_of(products, [](const LowRank& p) { return !p.factors.empty(); });
  }
  // Null: nothing is added to the product of this expert.
  const LowRank* of_expert(size_t product, size_t expert) const {
    if (product >= experts.size() || expert >= experts[product].size()) return nullptr;
    const LowRank& added = experts[product][expert];
    return added.empty() ? nullptr : &added;
  }
  // Null: the layer has none.
  const Vector* direction_after(int64_t layer) const {
    const auto i = static_cast<size_t>(layer);
    return i < directions.size() && !directions[i].empty() ? &directions[i] : nullptr;
  }
  bool replaces() const { return !token_embd.empty() || !output.empty(); }
};

// What a sequence's steps add: these adapters in order, each times its scale. None: the model as it
// is. The order decides how sums are rounded.
struct AdapterShare {
  const Adapter* adapter = nullptr;
  float scale = 1;

  bool operator==(const AdapterShare&) const = default;
};
using AdapterMix = std::span<const AdapterShare>;

}  // namespace ruv
