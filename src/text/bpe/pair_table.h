// PairTable: ranked merges by the ids of both neighbours, in open addressing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/bpe/symbol_merger.h"

namespace ruv {

class PairTable {
 public:
  // Merges "left right", lowest rank first, between tokens that `tokens` finds. Fails: corrupt.
  static Result<PairTable> read(std::span<const std::string> merges, const TokenIndex& tokens);
  // Room for n pairs.
  explicit PairTable(size_t n = 0) {
    size_t size = 16;
    while (size < 2 * n) size *= 2;
    entries_.resize(size);
  }

  // The first of two equal pairs wins. Requires: no more adds than the constructor was told.
  void add(Token left, Token right, Merge merge) {
    Entry& entry = entries_[slot_of(key_of(left, right))];
    if (entry.key == kEmpty) entry = {key_of(left, right), merge};
  }

  Merge find(Token left, Token right) const {
    if ((left | right) < 0) return {};
    return entries_[slot_of(key_of(left, right))].merge;
  }

 private:
  // No pair of ids has this key, because ids are not negative.
  static constexpr uint64_t kEmpty = UINT64_MAX;
  struct Entry {
    uint64_t key = kEmpty;
    Merge merge;
  };

  static uint64_t key_of(Token left, Token right) {
    return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) |
           static_cast<uint32_t>(right);
  }
  size_t slot_of(uint64_t key) const {
    const size_t mask = entries_.size() - 1;
    const uint64_t mixed = key * 0x9E3779B97F4A7C15ULL;
    size_t i = static_cast<size_t>(mixed ^ (mixed >> 32)) & mask;
    while (entries_[i].key != key && entries_[i].key != kEmpty) i = (i + 1) & mask;
    return i;
  }

  std::vector<Entry> entries_;
};

}  // namespace ruv
