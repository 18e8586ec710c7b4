#include "memory/hnsw_links.h"

#include <algorithm>

namespace ruv {

void HnswLinks::add(int level) {
  first_upper_.push_back(upper_.size());
  levels_.push_back(static_cast<uint8_t>(level));
  lowest_.resize(lowest_.size() + static_cast<size_t>(list_size(0)));
  upper_.resize(upper_.size() + static_cast<size_t>(level * list_size(1)));
}

void HnswLinks::set(uint32_t node, int level, std::span<const uint32_t> links) {
  auto* const list = const_cast<uint32_t*>(list_of(node, level));
  list[0] = static_cast<uint32_t>(links.size());
  std::ranges::copy(links, list + 1);
}

int64_t HnswLinks::n_bytes() const {
  return static_cast<int64_t>((lowest_.size() + upper_.size()) * sizeof(uint32_t) +
                              first_upper_.size() * sizeof(uint64_t) + levels_.size());
}

}  // namespace ruv
