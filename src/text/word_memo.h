// WordMemo: a cache of the ids of words, for words of up to 16 bytes and 7 tokens, which is nearly
// all of them. Two slots share a place; a new word replaces the older of the two. Not thread-safe;
// one is borrowed per call from a Pool.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "base/thread.h"
#include "text/token_sink.h"

namespace ruv {

// Takes 96 bytes for each place; fit() grows it with the text, so short prompts stay cheap.
class WordMemo {
 public:
  static constexpr size_t kMaxBytes = 16;
  static constexpr size_t kMaxTokens = 7;

  // Up to 16 bytes of a word, zero-padded, and their number.
  struct Key {
    uint64_t low = 0;
    uint64_t high = 0;
    uint32_t size = 0;
  };
  // 48 bytes, so two slots of a pair touch two cache lines at most.
  struct Slot {
    uint64_t low = 0;
    uint64_t high = 0;
    uint8_t size = 0;      // of the word, 0: empty
    uint8_t n_tokens = 0;  // 1 to kMaxTokens
    uint16_t note = 0;     // the owner's
    Token ids[kMaxTokens] = {};
    std::span<const Token> tokens() const { return {ids, n_tokens}; }
    bool holds(const Key& key) const {
      return ((low ^ key.low) | (high ^ key.high) | (size ^ key.size)) == 0;
    }
  };
  static_assert(sizeof(Slot) == 48);

  // The key of text[begin, end). Requires: 0 < end - begin <= kMaxBytes.
  static Key key_of(std::string_view text, size_t begin, size_t end) {
    Key key{.size = static_cast<uint32_t>(end - begin)};
    const char* from = text.data() + begin;
    if constexpr (std::endian::native == std::endian::little) {
      if (begin + kMaxBytes <= text.size()) {
        std::memcpy(&key.low, from, 8);
        std::memcpy(&key.high, from + 8, 8);
        key.low &= kMasks[key.size + 8];
        key.high &= kMasks[key.size];
        return key;
      }
    }
    char bytes[kMaxBytes] = {};
    std::memcpy(bytes, from, key.size);
    std::memcpy(&key.low, bytes, 8);
    std::memcpy(&key.high, bytes + 8, 8);
    return key;
  }

  // Makes room for the words of a text of n_bytes. Growing forgets all entries.
  void fit(size_t n_bytes);
  // Null when the word is not cached.
  const Slot* find(const Key& key) const {
    const Slot* pair = &slots_[2 * place(key)];
    // The branch would be unpredictable, so both are compared.
    const bool first = pair[0].holds(key);
    const bool second = pair[1].holds(key);
    return first || second ? pair + (first ? 0 : 1) : nullptr;
  }
  // A new slot for a word that is not cached, with only the key filled in.
  Slot& add(const Key& key) {
    Slot* pair = &slots_[2 * place(key)];
    pair[1] = pair[0];
    pair[0] = {.low = key.low, .high = key.high, .size = static_cast<uint8_t>(key.size)};
    return pair[0];
  }

 private:
  // kMasks[n] keeps the bytes of the second word that belong to the first n bytes, kMasks[n + 8]
  // those of the first word.
  static constexpr std::array<uint64_t, 25> kMasks = [] {
    std::array<uint64_t, 25> masks{};
    for (size_t n = 9; n < 25; ++n) masks[n] = n >= 16 ? ~uint64_t{0} : masks[n - 1] << 8 | 0xFF;
    return masks;
  }();

  // Multiplicative hashing; the top bits select the place.
  size_t place(const Key& key) const {
    const uint64_t mixed = (key.low ^ std::rotl(key.high, 29) * 0xD6E8FEB86659FD93U) + key.size;
    return static_cast<size_t>(mixed * 0x9E3779B97F4A7C15U >> shift_);
  }

  unsigned shift_ = 64;  // 64 less the logarithm of the number of pairs
  std::vector<Slot> slots_;
};

// Sends the tokens of a cached word. Requires: the sink keeps no places.
inline void send_known(const WordMemo::Slot& slot, TokenSink& sink) {
  if (slot.n_tokens == 1) return sink.push(slot.ids[0], 0);
  sink.push_word(slot.tokens());
}

// Objects that threads borrow and return, so that warm caches are reused. Thread-safe.
template <class T>
class Pool {
 public:
  // An object from the pool, or a new one when all are borrowed.
  std::unique_ptr<T> take() {
    const Lock lock(mutex_);
    if (free_.empty()) return std::make_unique<T>();
    std::unique_ptr<T> taken = std::move(free_.back());
    free_.pop_back();
    return taken;
  }
  // Returns an object; it keeps what it has cached.
  void give(std::unique_ptr<T> item) {
    const Lock lock(mutex_);
    free_.push_back(std::move(item));
  }

 private:
  Mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace ruv
