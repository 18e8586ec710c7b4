// PairTable: ranked merges by the ids of both neighbours. Most pairs that are looked up do not
// merge; a small filter with one bit per hash rejects most of them without touching the table.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/bpe/symbol_merger.h"
#include "text/bpe/word_key.h"

namespace ruv {

class PairTable {
 public:
  // A pair and what it merges into.
  struct Entry {
    Token left = -1;
    Token right = -1;
    Merge merge;
  };

  // Room for n pairs.
  explicit PairTable(size_t n = 0)
      : slots_(std::bit_ceil(std::max<size_t>(16, n + n / 2))),
        filter_(std::bit_ceil(std::max<size_t>(16, n / 5))) {
    entries_.reserve(n);
  }

  // The first of two equal pairs wins. Requires: at most as many calls as the constructor's n; ids
  // are not negative.
  void add(Token left, Token right, Merge merge) {
    const uint64_t hash = hash_of(left, right);
    uint32_t& slot = slots_[slot_of(hash, left, right)];
    if (slot != 0) return;
    entries_.push_back({left, right, merge});
    slot = static_cast<uint32_t>(entries_.size());
    filter_[(hash >> 6) & (filter_.size() - 1)] |= uint64_t{1} << (hash & 63);
  }

  // The merge of two neighbours; rank kNoMerge when they do not merge. Usually one load of the
  // filter.
  Merge find(Token left, Token right) const {
    if ((left | right) < 0) return {};
    const uint64_t hash = hash_of(left, right);
    const uint64_t bits = filter_[(hash >> 6) & (filter_.size() - 1)];
    if (((bits >> (hash & 63)) & 1) == 0) return {};
    const uint32_t slot = slots_[slot_of(hash, left, right)];
    return slot == 0 ? Merge{} : entries_[slot - 1].merge;
  }

  // All pairs, in the order in which they were added.
  std::span<const Entry> entries() const { return entries_; }
  void prefetch(Token left, Token right) const {
    __builtin_prefetch(&slots_[(hash_of(left, right) >> 32) & (slots_.size() - 1)], 1);
  }

 private:
  static uint64_t hash_of(Token left, Token right) {
    const uint64_t a = static_cast<uint32_t>(left) ^ 0x2D358DCCAA6C78A5ULL;
    const uint64_t b = (static_cast<uint64_t>(right) << 32) ^ 0x8BB84B93962EACC9ULL;
    return fold_multiply(a, b);
  }
  // The slot of a pair, or the empty slot where it belongs (linear probing).
  size_t slot_of(uint64_t hash, Token left, Token right) const {
    const size_t mask = slots_.size() - 1;
    size_t i = (hash >> 32) & mask;
    while (slots_[i] != 0) {
      const Entry& entry = entries_[slots_[i] - 1];
      if (entry.left == left && entry.right == right) break;
      i = (i + 1) & mask;
    }
    return i;
  }

  std::vector<uint32_t> slots_;  // index in entries_ + 1; 0 is empty
  std::vector<uint64_t> filter_;
  std::vector<Entry> entries_;
};

}  // namespace ruv
