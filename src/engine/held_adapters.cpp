#include "engine/held_adapters.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/key_text.h"

namespace ruv {

HeldAdapters::HeldAdapters(std::vector<AdapterUse> uses) : uses_(std::move(uses)) {
  for (const AdapterUse& use : uses_) {
    if (use.scale != 0) shares_.push_back({&use.adapter->adapter, use.scale});
  }
}

uint64_t HeldAdapters::key() const {
  if (shares_.empty()) return 0;
  KeyText key;
  for (const AdapterShare& share : shares_) {
    key.number(share.adapter->key);
    key.number(std::bit_cast<uint32_t>(share.scale));
  }
  return key.hash(1);
}

int64_t max_rank_of(std::span<const AdapterUse> uses) {
  int64_t most = 0;
  for (const AdapterUse& use : uses) {
    if (use.adapter != nullptr) most = std::max(most, use.adapter->adapter.max_rank());
  }
  return most;
}

Status check_adapters(std::span<const AdapterUse> uses, const Model& model, int64_t max_rank) {
  if (uses.size() > kMaxAdapters) {
    return fail(Code::invalid, "adapters: {} of them; a request may have {}", uses.size(),
                kMaxAdapters);
  }
  const auto n_used = std::ranges::count_if(uses, [](const AdapterUse& u) { return u.scale != 0; });
  for (size_t i = 0; i < uses.size(); ++i) {
    const AdapterUse& use = uses[i];
    if (use.adapter == nullptr) return fail(Code::invalid, "adapters[{}]: there is none", i);
    if (use.adapter->model.get() != &model) {
      return fail(Code::invalid, "adapters[{}]: made for another model", i);
    }
    if (!std::isfinite(use.scale)) {
      return fail(Code::invalid, "adapters[{}]: the scale is {}", i, use.scale);
    }
    const Adapter& adapter = use.adapter->adapter;
    if (use.scale != 0 && use.scale != 1 && (adapter.has_factors() || adapter.replaces())) {
      return fail(Code::unsupported,
                  "adapters[{}]: it has {}, which are for a scale of 1, and the scale is {}", i,
                  adapter.has_factors() ? "magnitudes or biases of rows" : "whole matrices",
                  use.scale);
    }
    if (use.scale != 0 && adapter.replaces() && n_used > 1) {
      return fail(Code::unsupported,
                  "adapters[{}]: it has whole matrices, which cannot be used with other adapters",
                  i);
    }
    const int64_t rank = adapter.max_rank();
    if (rank > max_rank) {
      return fail(Code::invalid,
                  "adapters[{}]: its rank is {}, and max_adapter_rank of the engine is {}", i, rank,
                  max_rank);
    }
  }
  return {};
}

}  // namespace ruv
