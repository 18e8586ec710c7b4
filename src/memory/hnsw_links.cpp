#include "memory/hnsw_links.h"

#include <algorithm>

namespace ruv {

Status HnswLinks::grow_blocks(std::vector<Buffer>& blocks, int64_t n_lists, int level) {
  const int64_t n_blocks = (n_lists + kListsOfBlock - 1) / kListsOfBlock;
  const int64_t n_bytes = kListsOfBlock * list_size(level) * static_cast<int64_t>(sizeof(uint32_t));
  while (std::ssize(blocks) < n_blocks) blocks.push_back(TRY(Buffer::allocate(n_bytes)));
  return {};
}

Status HnswLinks::grow(int64_t n_nodes, int64_t n_upper) {
  TRY(grow_blocks(lowest_, n_nodes, 0));
  return grow_blocks(upper_, n_upper_ + n_upper, 1);
}

void HnswLinks::add(int level) {
  first_upper_.push_back(n_upper_);
  levels_.push_back(static_cast<uint8_t>(level));
  n_upper_ += level;
}

void HnswLinks::set(uint32_t node, int level, std::span<const uint32_t> links) {
  uint32_t* const list = list_of(node, level);
  list[0] = static_cast<uint32_t>(links.size());
  std::ranges::copy(links, list + 1);
}

int64_t HnswLinks::n_bytes() const {
  int64_t n = std::ssize(first_upper_) * static_cast<int64_t>(sizeof(int64_t) + sizeof(uint8_t));
  for (const Buffer& block : lowest_) n += block.n_bytes();
  for (const Buffer& block : upper_) n += block.n_bytes();
  return n;
}

}  // namespace ruv
