// WordCache: the ids of short words seen before, in two slots of half a cache line per hash.
// Bounded and lossy: a new word takes the place of the older of the two.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "text/bpe/word_key.h"
#include "text/token_index.h"

namespace ruv {

// Not thread-safe.
class WordCache {
 public:
  static constexpr size_t kIds = 4;

  // Null when the word is not here, else kIds ids of which those behind the last are -1.
  const Token* find(const WordKey& key, uint64_t hash) const {
    const Slot* slots = pair_of(hash);
    if (slots[0].key == key) return slots[0].ids.data();
    return slots[1].key == key ? slots[1].ids.data() : nullptr;
  }
  // Words of more than kIds ids and long ones are not kept.
  void keep(const WordKey& key, uint64_t hash, std::span<const Token> ids) {
    if (ids.size() > kIds || (key.high >> 56) > WordKey::kShort) return;
    Slot* slots = pair_of(hash);
    slots[1] = slots[0];
    slots[0].key = key;
    slots[0].ids.fill(-1);
    std::copy(ids.begin(), ids.end(), slots[0].ids.begin());
  }
  void prefetch(uint64_t hash) const { __builtin_prefetch(pair_of(hash)); }

 private:
  static constexpr size_t kPairs = 8192;
  struct Slot {
    WordKey key;  // no word is empty, so zero is no word
    std::array<Token, kIds> ids{};
  };
  struct alignas(64) Pair {
    Slot slots[2];
  };

  Slot* pair_of(uint64_t hash) const { return pairs_[hash % kPairs].slots; }

  std::unique_ptr<Pair[]> pairs_ = std::make_unique<Pair[]>(kPairs);
};

}  // namespace ruv
