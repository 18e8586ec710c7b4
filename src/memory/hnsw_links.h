// HnswLinks: which nodes a node of a navigable small world graph is linked to, level by level. All
// have a list on level 0; a node of level l has l more of half the length. Lists lie in blocks that
// never move.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"

namespace ruv {

class HnswLinks {
 public:
  static constexpr int kMostLevels = 32;

  // `m`: the most links of a node on levels above 0; on level 0 twice as many.
  explicit HnswLinks(int m) : m_(m) {}

  int64_t n_nodes() const { return std::ssize(levels_); }
  int most(int level) const { return level == 0 ? 2 * m_ : m_; }
  // Links that a list has room for: more than most(), so that not each new one costs a choice.
  int room(int level) const { return most(level) + most(level) / 4; }
  int level_of(uint32_t node) const { return levels_[node]; }
  // Makes room for `n_lists` lists of nodes below n_nodes, and for `n_upper` lists above level 0 of
  // nodes that are added next. Fails: out_of_memory; the lists are as before.
  Status grow(int64_t n_nodes, int64_t n_upper);
  // Adds a node without links. Requires: grow() made room for it.
  void add(int level);
  std::span<const uint32_t> of(uint32_t node, int level) const {
    const uint32_t* const list = list_of(node, level);
    return {list + 1, list[0]};
  }
  // Requires: at most room(level) links, and level <= level_of(node).
  void set(uint32_t node, int level, std::span<const uint32_t> links);
  int64_t n_bytes() const;

 private:
  static constexpr int64_t kListsOfBlock = 8192;

  // The number of links, and room for as many as there may be.
  int64_t list_size(int level) const { return room(level) + 1; }
  uint32_t* list_of(uint32_t node, int level) const {
    if (level == 0) return list_at(lowest_, node, 0);
    return list_at(upper_, first_upper_[node] + level - 1, level);
  }
  uint32_t* list_at(const std::vector<Buffer>& blocks, int64_t list, int level) const {
    return blocks[static_cast<size_t>(list / kListsOfBlock)].as<uint32_t>() +
           list % kListsOfBlock * list_size(level);
  }
  Status grow_blocks(std::vector<Buffer>& blocks, int64_t n_lists, int level);

  int m_;
  std::vector<Buffer> lowest_, upper_;
  std::vector<int64_t> first_upper_;  // of each node, which list above level 0 is its first
  int64_t n_upper_ = 0;
  std::vector<uint8_t> levels_;
};

}  // namespace ruv
