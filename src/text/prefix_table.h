// PrefixTable: which tokens begin at a place of a text. Two bits per hashed prefix say whether a
// longer token begins with it and whether a token ends there; only then is the token itself looked
// up. The prefixes of up to 8 bytes are each hashed from one loaded word, so neither loads nor
// hashes depend on each other as the steps of a trie do. Building needs no sorting.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/token_index.h"

namespace ruv {

// Immutable after construction; any number of threads may read it. A table takes 2 bits per entry
// of `bits_`, 16 bytes per slot and the bytes of long tokens beyond the first 8.
class PrefixTable {
 public:
  PrefixTable() = default;
  // The first of equal texts wins; empty texts are ignored. Requires: as many ids as texts.
  PrefixTable(std::span<const std::string_view> texts, std::span<const Token> ids);

  // Calls on_token(bytes, id) for each token that is a prefix of text[at, end), shortest first.
  // Takes time up to the longest token. Requires: at < end <= text.size(). Fastest when text.size()
  // is at least at + 8.
  template <class OnToken>
  void find_all(std::string_view text, size_t at, size_t end, const OnToken& on_token) const {
    const uint64_t word = load_fast(text, at);
    const Marks marks = marks_of(word, end - at);
    for (uint32_t ends = marks.ends; ends != 0; ends &= ends - 1) {
      const size_t size = static_cast<size_t>(std::countr_zero(ends)) + 1;
      const Token id = find_short(word, size);
      if (id >= 0) on_token(size, id);
    }
    if (!marks.goes_on) return;
    walk(text, at, end, word, [&](size_t size, uint64_t hash) {
      const Token id = find_long(text, at, word, size, hash);
      if (id >= 0) on_token(size, id);
    });
  }

  // The longest token that is a prefix of text[at, end); size 0 when there is none.
  struct Found {
    size_t size = 0;
    Token id = -1;
  };
  Found longest(std::string_view text, size_t at, size_t end) const {
    const uint64_t word = load_fast(text, at);
    const Marks marks = marks_of(word, end - at);
    if (marks.goes_on) [[unlikely]] {
      const Found found = longest_long(text, at, end, word);
      if (found.size > 0) return found;
    }
    for (uint32_t ends = marks.ends; ends != 0;) {
      const size_t size = static_cast<size_t>(std::bit_width(ends));
      const Token id = find_short(word, size);
      if (id >= 0) return {size, id};
      ends ^= 1U << (size - 1);
    }
    return {};
  }

 private:
  static constexpr uint32_t kGoesOn = 1;
  static constexpr uint32_t kEnds = 2;
  static constexpr size_t kWindow = 8;  // bytes hashed independently
  struct Slot {
    uint64_t first = 0;  // up to 8 bytes
    uint32_t size = 0;   // 0: empty
    Token id = -1;
  };
  // Bit n of `ends`: a token of n + 1 bytes may end there. goes_on: a token longer than kWindow may
  // follow.
  struct Marks {
    uint32_t ends = 0;
    bool goes_on = false;
  };

  // The two halves of a product, folded, so that every bit of both factors reaches every bit.
  static uint64_t fold(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  static uint64_t first_bytes(uint64_t word, size_t n) {
    return word << (64 - 8 * n) >> (64 - 8 * n);
  }
  // The hash of a prefix of n bytes, n <= kWindow; next() extends it by one byte beyond that.
  static uint64_t hash_of(uint64_t first, size_t n) {
    return fold(first ^ 0x2D358DCCAA6C78A5U * n, 0x9E3779B97F4A7C15U);
  }
  static uint64_t next(uint64_t hash, uint8_t byte) {
    return fold(hash ^ byte, 0xD6E8FEB86659FD93U);
  }

  // The next 8 bytes of the text, the first in the lowest bits; zeros after its end.
  static uint64_t load(std::string_view text, size_t at) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min<size_t>(kWindow, text.size() - at));
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
  }
  // As load, without the copy of a few bytes where the text is long enough.
  static uint64_t load_fast(std::string_view text, size_t at) {
    if (at + kWindow > text.size()) return load(text, at);
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, kWindow);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
  }

  // The two bits of a prefix, kGoesOn and kEnds. Different prefixes may share them, which only
  // causes lookups that find nothing.
  uint32_t bits_of(uint64_t hash) const {
    const uint64_t i = hash >> shift_;
    return static_cast<uint32_t>(bits_[i >> 5] >> (2 * (i & 31))) & 3;
  }
  void set(uint64_t hash, uint64_t bits) {
    const uint64_t i = hash >> shift_;
    bits_[i >> 5] |= bits << (2 * (i & 31));
  }
  // The marks of all prefixes of `word` of up to kWindow bytes; stops at the first one that no
  // token continues.
  Marks marks_of(uint64_t word, size_t left) const {
    uint32_t ends = 0;
    const size_t limit = std::min(left, kWindow);
    for (size_t n = 1; n <= limit; ++n) {
      const uint32_t bits = bits_of(hash_of(first_bytes(word, n), n));
      ends |= (bits >> 1) << (n - 1);
      if ((bits & kGoesOn) == 0) return {ends, false};
    }
    return {ends, left > kWindow};
  }

  // The token that is exactly the first `size` bytes, or -1. find_long is the same for tokens of
  // more than kWindow bytes, whose remaining bytes are compared in rests_.
  Token find_short(uint64_t word, size_t size) const {
    const uint64_t first = first_bytes(word, size);
    for (size_t i = hash_of(first, size) & mask_;; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.first == first && slot.size == size) return slot.id;
      if (slot.size == 0) return -1;
    }
  }
  Token find_long(std::string_view text, size_t at, uint64_t first, size_t size,
                  uint64_t hash) const {
    for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.size == 0) return -1;
      if (slot.first == first && slot.size == size &&
          std::memcmp(text.data() + at + kWindow, rests_.data() + rest_begins_[i],
                      size - kWindow) == 0) {
        return slot.id;
      }
    }
  }
  // Calls on_end(bytes, hash) where a token of more than kWindow bytes may end.
  template <class OnEnd>
  void walk(std::string_view text, size_t at, size_t end, uint64_t word,
            const OnEnd& on_end) const {
    uint64_t hash = hash_of(word, kWindow);
    for (size_t i = at + kWindow; i < end;) {
      hash = next(hash, static_cast<uint8_t>(text[i++]));
      const uint32_t bits = bits_of(hash);
      if ((bits & kEnds) != 0) on_end(i - at, hash);
      if ((bits & kGoesOn) == 0) return;
    }
  }
  // The rest of longest() when a token of more than kWindow bytes may match.
  Found longest_long(std::string_view text, size_t at, size_t end, uint64_t word) const;
  void insert(std::string_view text, uint64_t first, uint64_t hash, Token id);

  unsigned shift_ = 58;  // 64 less the logarithm of the number of entries in bits_
  std::vector<uint64_t> bits_ = std::vector<uint64_t>(2);
  size_t mask_ = 0;  // slots less one; the number of slots is a power of two
  std::vector<Slot> slots_ = std::vector<Slot>(1);
  std::vector<uint32_t> rest_begins_;  // of each slot, in rests_
  std::string rests_;                  // the bytes of long tokens after the first 8
};

}  // namespace ruv
