// NearestList: the nearest nodes that a search has found, in order, with a mark for those whose
// links have been followed. Short lists in an array are faster than heaps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ruv {

struct Neighbour {
  float distance = 0;
  uint32_t node = 0;

  // Equal distances are ordered by node, so that results depend on the graph alone.
  friend bool operator<(const Neighbour& a, const Neighbour& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.node < b.node;
  }
  friend bool operator==(const Neighbour&, const Neighbour&) = default;
};

class NearestList {
 public:
  // Empties it. `most`: how many it keeps.
  void begin(size_t most) {
    most_ = most;
    entries_.clear();
    next_ = 0;
  }
  // Whether a node at this distance would be kept.
  bool takes(const Neighbour& found) const {
    return entries_.size() < most_ || found < entries_.back().found;
  }
  // Whether it has room, or its last node is not nearer than this one.
  bool has_up_to(const Neighbour& found) const {
    return entries_.size() < most_ || !(entries_.back().found < found);
  }
  void add(const Neighbour& found) {
    if (!takes(found)) return;
    if (entries_.size() == most_) entries_.pop_back();
    const auto at =
        std::upper_bound(entries_.begin(), entries_.end(), found,
                         [](const Neighbour& x, const Entry& entry) { return x < entry.found; });
    next_ = std::min(next_, static_cast<size_t>(at - entries_.begin()));
    entries_.insert(at, {found, false});
  }
  // The nearest node whose links were not followed, which is marked; null: there is none.
  const Neighbour* follow() {
    while (next_ < entries_.size() && entries_[next_].is_followed) ++next_;
    if (next_ == entries_.size()) return nullptr;
    entries_[next_].is_followed = true;
    return &entries_[next_++].found;
  }
  size_t size() const { return entries_.size(); }
  const Neighbour& at(size_t i) const { return entries_[i].found; }

 private:
  struct Entry {
    Neighbour found;
    bool is_followed;
  };
  std::vector<Entry> entries_;
  size_t most_ = 0;
  size_t next_ = 0;  // all before it were followed
};

}  // namespace ruv
