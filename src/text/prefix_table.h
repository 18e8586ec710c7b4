// PrefixTable: which tokens begin at a place of a text. A set of bits, found by a rolling hash of
// the bytes walked so far, says whether a prefix can go on and whether a token may end there; only
// then the token itself is looked up and compared. Loads do not wait for each other as they do in
// a trie, and no sorting is needed to build it.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/token_index.h"

namespace ruv {

class PrefixTable {
 public:
  // Of equal texts the first wins. Empty texts are left out.
  PrefixTable() = default;
  PrefixTable(std::span<const std::string_view> texts, std::span<const Token> ids);

  // Calls on_token(bytes, id) for each token that begins at text[at], the shortest first. Every
  // token is the bytes of the text; time is up to the longest token.
  template <class OnToken>
  void find_all(std::string_view text, size_t at, const OnToken& on_token) const {
    uint64_t hash = kSeed;
    const size_t end = text.size();
    for (size_t i = at; i < end;) {
      hash = next(hash, static_cast<uint8_t>(text[i++]));
      const uint32_t bits = bits_of(hash);
      if ((bits & kEnds) != 0) {
        const Token id = find(text, at, i - at, hash);
        if (id >= 0) on_token(i - at, id);
      }
      if ((bits & kGoesOn) == 0) return;
    }
  }

  // The longest token that begins at text[at]; size 0 when there is none.
  struct Found {
    size_t size = 0;
    Token id = -1;
  };
  Found longest(std::string_view text, size_t at) const {
    uint64_t hash = kSeed;
    Candidate candidates[kMaxCandidates];
    size_t n = 0;
    for (size_t i = at; i < text.size();) {
      hash = next(hash, static_cast<uint8_t>(text[i++]));
      const uint32_t bits = bits_of(hash);
      if ((bits & kEnds) != 0) candidates[n++ % kMaxCandidates] = {hash, i - at};
      if ((bits & kGoesOn) == 0) break;
    }
    // The newest kMaxCandidates are kept; a token may lie before them all.
    const size_t n_kept = n < kMaxCandidates ? n : kMaxCandidates;
    for (size_t back = 1; back <= n_kept; ++back) {
      const Candidate& c = candidates[(n - back) % kMaxCandidates];
      const Token id = find(text, at, c.size, c.hash);
      if (id >= 0) return {c.size, id};
    }
    return n > n_kept ? longest_slow(text, at) : Found{};
  }

 private:
  static constexpr uint64_t kSeed = 0x243F6A8885A308D3U;
  static constexpr uint32_t kGoesOn = 1;
  static constexpr uint32_t kEnds = 2;
  static constexpr size_t kMaxCandidates = 8;
  struct Candidate {
    uint64_t hash;
    size_t size;
  };
  struct Slot {
    uint32_t tag = 0;
    uint32_t begin = 0;  // in bytes_
    uint32_t size = 0;   // 0: empty
    Token id = -1;
  };

  static uint64_t next(uint64_t hash, uint8_t byte) { return (hash ^ byte) * 0x9E3779B97F4A7C15U; }
  uint32_t bits_of(uint64_t hash) const {
    const uint64_t i = hash >> shift_;
    return static_cast<uint32_t>(bits_[i >> 5] >> (2 * (i & 31))) & 3;
  }
  void set(uint64_t hash, uint64_t bits) {
    const uint64_t i = hash >> shift_;
    bits_[i >> 5] |= bits << (2 * (i & 31));
  }
  static size_t slot_of(uint64_t hash, size_t mask) {
    return static_cast<size_t>(hash >> 20 ^ hash >> 41) & mask;
  }
  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 8); }

  Token find(std::string_view text, size_t at, size_t size, uint64_t hash) const {
    const uint32_t tag = tag_of(hash);
    for (size_t i = slot_of(hash, slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[i];
      if (slot.size == 0) return -1;
      if (slot.tag == tag && slot.size == size &&
          equal(text.data() + at, bytes_.data() + slot.begin, size, text.size() - at)) {
        return slot.id;
      }
    }
  }
  // Requires: 8 bytes may be read at `token` and `left` >= size at `text`.
  static bool equal(const char* text, const char* token, size_t size, size_t left) {
    if (left < size + 8) return std::memcmp(text, token, size) == 0;
    for (;; text += 8, token += 8, size -= 8) {
      uint64_t a = 0;
      uint64_t b = 0;
      std::memcpy(&a, text, 8);
      std::memcpy(&b, token, 8);
      if (size <= 8) return equal_first(a, b, size);
      if (a != b) return false;
    }
  }
  static bool equal_first(uint64_t a, uint64_t b, size_t n_bytes) {
    if constexpr (std::endian::native == std::endian::little) {
      return (a ^ b) << (64 - 8 * n_bytes) == 0;
    }
    return (a ^ b) >> (64 - 8 * n_bytes) == 0;
  }
  Found longest_slow(std::string_view text, size_t at) const;

  unsigned shift_ = 58;  // 64 less the logarithm of the number of entries in bits_
  std::vector<uint64_t> bits_ = std::vector<uint64_t>(2);
  std::vector<Slot> slots_ = std::vector<Slot>(2);
  std::string bytes_;
};

}  // namespace ruv
