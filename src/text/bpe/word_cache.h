// WordCache: the ids of short words seen before, two slots of half a cache line per hash. Bounded
// and lossy: a new word replaces the older of the two. Takes 512 KB.
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

  // Null when the word is not cached; otherwise kIds ids, -1 after the last.
  const Token* find(const WordKey& key, uint64_t hash) const {
    const Slot* slots = pair_of(hash);
    if (slots[0].key == key) return slots[0].ids.data();
    return slots[1].key == key ? slots[1].ids.data() : nullptr;
  }
  // Does nothing for long words and for words of more than kIds ids.
  void keep(const WordKey& key, uint64_t hash, std::span<const Token> ids) {
    if (ids.size() > kIds || (key.high >> 56) > WordKey::kShort) return;
    Slot* slots = pair_of(hash);
    slots[1] = slots[0];
    slots[0].key = key;
    slots[0].ids.fill(-1);
    std::copy(ids.begin(), ids.end(), slots[0].ids.begin());
  }
  // Starts loading the slots of a hash; called for a block of words before they are looked up.
  void prefetch(uint64_t hash) const { __builtin_prefetch(pair_of(hash)); }

 private:
  static constexpr size_t kPairs = 8192;
  struct Slot {
    WordKey key;  // zero: empty, since no word is empty
    std::array<Token, kIds> ids{};
  };
  struct alignas(64) Pair {
    Slot slots[2];
  };

  Slot* pair_of(uint64_t hash) const { return pairs_[hash % kPairs].slots; }

  std::unique_ptr<Pair[]> pairs_ = std::make_unique<Pair[]>(kPairs);
};

}  // namespace ruv
