// HnswLinks: which nodes a node of a navigable small world graph is linked to, level by level. All
// have a list on level 0; a node of level l has l more of half the length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ruv {

class HnswLinks {
 public:
  // `m`: the most links of a node on levels above 0; on level 0 twice as many.
  explicit HnswLinks(int m) : m_(m) {}

  int64_t n_nodes() const { return std::ssize(levels_); }
  int most(int level) const { return level == 0 ? 2 * m_ : m_; }
  // Links that a list has room for: more than most(), so that not each new one costs a choice.
  int room(int level) const { return most(level) + most(level) / 4; }
  int level_of(uint32_t node) const { return levels_[node]; }
  // Adds a node without links.
  void add(int level);
  std::span<const uint32_t> of(uint32_t node, int level) const {
    const uint32_t* const list = list_of(node, level);
    return {list + 1, list[0]};
  }
  // Requires: at most room(level) links, and level <= level_of(node).
  void set(uint32_t node, int level, std::span<const uint32_t> links);
  int64_t n_bytes() const;

 private:
  // The number of links, and room for as many as there may be.
  int64_t list_size(int level) const { return room(level) + 1; }
  const uint32_t* list_of(uint32_t node, int level) const {
    if (level == 0) return lowest_.data() + int64_t{node} * list_size(0);
    return upper_.data() + first_upper_[node] + (level - 1) * list_size(1);
  }

  int m_;
  std::vector<uint32_t> lowest_, upper_;
  std::vector<uint64_t> first_upper_;  // of each node, where its lists above level 0 begin
  std::vector<uint8_t> levels_;
};

}  // namespace ruv
