// What a search in a graph is asked for, and the memory that it uses.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/code_rows.h"
#include "memory/nearest_list.h"
#include "memory/node_set.h"

namespace ruv {

struct SearchOptions {
  int64_t k = 10;
  // How many near nodes are looked at; k where that is more. More find more of the nearest ones,
  // and take time in proportion.
  int64_t n_looked_at = 64;
  // Only these are found; null: all. Few are compared one by one, which finds all of the nearest.
  const NodeSet* among = nullptr;
};

// Kept between searches of one thread.
class HnswSearch {
 public:
  NearestList nearest;
  // A row that the last search read and that has other numbers than it should; kNone: none.
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t damaged() const { return damaged_; }

 private:
  friend class Hnsw;
  // Starts a search among n nodes.
  void begin(int64_t n_nodes);
  bool visit(uint32_t node) {
    if (tags_[node] == tag_) return false;
    tags_[node] = tag_;
    return true;
  }

  std::vector<uint16_t> tags_;  // of each node, the last search that saw it
  uint16_t tag_ = 0;
  std::vector<uint32_t> nodes_;
  std::vector<const float*> rows_;
  std::vector<float> distances_, query_;
  std::vector<Neighbour> found_;
  uint32_t damaged_ = kNone;
  bool uses_codes_ = false;
  CodedQuery coded_;
};

}  // namespace ruv
