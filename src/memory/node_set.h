// NodeSet: a set of nodes of an index, a bit for each, as filters have it.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace ruv {

class NodeSet {
 public:
  void insert(uint32_t node) {
    const size_t word = node / 64;
    if (word >= words_.size()) words_.resize(word + 1);
    const uint64_t bit = uint64_t{1} << (node % 64);
    n_ += (words_[word] & bit) == 0 ? 1 : 0;
    words_[word] |= bit;
  }
  bool has(uint32_t node) const {
    const size_t word = node / 64;
    return word < words_.size() && ((words_[word] >> (node % 64)) & 1) != 0;
  }
  int64_t size() const { return n_; }
  // Calls f(node) for each, in ascending order.
  template <class F>
  void for_each(F&& f) const {
    for (size_t word = 0; word < words_.size(); ++word) {
      for (uint64_t left = words_[word]; left != 0; left &= left - 1) {
        f(static_cast<uint32_t>(word * 64 + static_cast<size_t>(std::countr_zero(left))));
      }
    }
  }

 private:
  std::vector<uint64_t> words_;
  int64_t n_ = 0;
};

}  // namespace ruv
