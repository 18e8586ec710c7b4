// Adapter: what one fine-tuning adds to the products of a model, as matrices of low rank on a
// device. A step computes any mix of adapters beside one copy of the model's weights.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "device/weight.h"

namespace ruv {

// Added to a product of x: scale · B · (A · x).
struct LowRank {
  Weight a;  // (rank, n_in)
  Weight b;  // (n_out, rank)
  float scale = 0;

  bool empty() const { return a.empty(); }
  int64_t rank() const { return a.n_out; }
};

// One entry for each product that a step of the model computes, empty where nothing is added.
// Which number a product has is the model's affair (model/adapter.h). Immutable once made.
struct Adapter {
  std::vector<LowRank> products;
  uint64_t key = 0;  // a hash of the contents: what is computed with equal ones is equal

  // The largest rank of an entry.
  int64_t max_rank() const {
    int64_t most = 0;
    for (const LowRank& added : products) most = std::max(most, added.rank());
    return most;
  }
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
