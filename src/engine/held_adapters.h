// HeldAdapters: the adapters that a request's steps add, kept while they do.
#pragma once

#include <vector>

#include "model/adapter.h"
#include "ruv/adapter.h"

namespace ruv {

class HeldAdapters {
 public:
  // Requires: no adapter is null. Those with a scale of 0 are not computed.
  explicit HeldAdapters(std::vector<AdapterUse> uses);

  AdapterMix mix() const { return shares_; }
  // A number for what they compute: equal ones compute the same. 0: there are none.
  uint64_t key() const;

 private:
  std::vector<AdapterUse> uses_;
  std::vector<AdapterShare> shares_;
};

// 0: there are none.
int64_t max_rank_of(std::span<const AdapterUse> uses);

// Fails: invalid, naming the adapter by its place: null, made for another model, of a rank above
// max_rank, a scale that is not finite, too many of them; unsupported: a scale or a mix that some
// of them have no meaning in.
Status check_adapters(std::span<const AdapterUse> uses, const Model& model, int64_t max_rank);

}  // namespace ruv
