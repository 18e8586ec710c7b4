// ByteSet: a set of bytes, one bit each. All operations take a few instructions on four words, so
// automata over bytes keep sets instead of tables of 256 entries.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace ruv {

class ByteSet {
 public:
  constexpr ByteSet() = default;
  static constexpr ByteSet all() { return ~ByteSet(); }
  static constexpr ByteSet of(uint8_t byte) { return of(byte, byte); }
  // Both ends belong to it. Requires: first <= last.
  static constexpr ByteSet of(uint8_t first, uint8_t last) {
    ByteSet set;
    for (unsigned byte = first; byte <= last; ++byte) set.add(static_cast<uint8_t>(byte));
    return set;
  }

  constexpr bool has(uint8_t byte) const { return (words_[byte / 64] >> (byte % 64) & 1) != 0; }
  constexpr void add(uint8_t byte) { words_[byte / 64] |= uint64_t{1} << (byte % 64); }
  constexpr bool empty() const { return (words_[0] | words_[1] | words_[2] | words_[3]) == 0; }
  constexpr size_t size() const {
    size_t n = 0;
    for (const uint64_t word : words_) n += static_cast<size_t>(std::popcount(word));
    return n;
  }
  // How many bytes of the set are lower.
  constexpr size_t n_below(uint8_t byte) const {
    size_t n = 0;
    for (size_t word = 0; word < byte / 64U; ++word) {
      n += static_cast<size_t>(std::popcount(words_[word]));
    }
    const uint64_t lower = (uint64_t{1} << (byte % 64)) - 1;
    return n + static_cast<size_t>(std::popcount(words_[byte / 64] & lower));
  }
  // The lowest byte. Requires: !empty().
  constexpr uint8_t first() const {
    size_t word = 0;
    while (words_[word] == 0) ++word;
    return static_cast<uint8_t>(word * 64 + static_cast<size_t>(std::countr_zero(words_[word])));
  }
  // Calls visit(uint8_t) for each byte, ascending.
  template <typename Visit>
  constexpr void for_each(Visit&& visit) const {
    for (size_t word = 0; word < words_.size(); ++word) {
      for (uint64_t bits = words_[word]; bits != 0; bits &= bits - 1) {
        visit(static_cast<uint8_t>(word * 64 + static_cast<size_t>(std::countr_zero(bits))));
      }
    }
  }

  constexpr ByteSet operator~() const {
    ByteSet set;
    for (size_t i = 0; i < words_.size(); ++i) set.words_[i] = ~words_[i];
    return set;
  }
  constexpr ByteSet& operator|=(const ByteSet& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
  }
  constexpr ByteSet& operator&=(const ByteSet& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
    return *this;
  }
  friend constexpr ByteSet operator|(ByteSet a, const ByteSet& b) { return a |= b; }
  friend constexpr ByteSet operator&(ByteSet a, const ByteSet& b) { return a &= b; }
  constexpr auto operator<=>(const ByteSet&) const = default;

  constexpr const std::array<uint64_t, 4>& words() const { return words_; }

 private:
  std::array<uint64_t, 4> words_ = {};
};

}  // namespace ruv
