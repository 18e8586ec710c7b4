// SeenNodes: the nodes that a walk through a graph has come by: a hash table whose memory grows
// with the walk and not with the graph.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace ruv {

class SeenNodes {
 public:
  void clear() {
    // What one long walk has needed is not kept for all others.
    slots_.assign(std::clamp(slots_.size(), kLeast, kMostKept), kEmpty);
    n_ = 0;
  }
  // False: it was there. Requires: node < UINT32_MAX.
  bool insert(uint32_t node) {
    if (2 * (n_ + 1) > slots_.size()) grow();
    uint32_t& slot = slots_[place_of(node)];
    if (slot == node) return false;
    slot = node;
    ++n_;
    return true;
  }

 private:
  static constexpr uint32_t kEmpty = UINT32_MAX;
  static constexpr size_t kLeast = 1024, kMostKept = 16384;  // powers of two

  // Where the node is, or is to be: the next slots are tried in turn.
  size_t place_of(uint32_t node) const {
    const size_t mask = slots_.size() - 1;
    size_t at = (node * 0x9E3779B97F4A7C15ULL) >> (64 - std::countr_zero(slots_.size()));
    while (slots_[at] != kEmpty && slots_[at] != node) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<uint32_t> before(std::max(kLeast, 2 * slots_.size()), kEmpty);
    std::swap(before, slots_);
    for (const uint32_t node : before) {
      if (node != kEmpty) slots_[place_of(node)] = node;
    }
  }

  std::vector<uint32_t> slots_;
  size_t n_ = 0;
};

}  // namespace ruv
