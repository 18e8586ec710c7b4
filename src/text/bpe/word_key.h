// WordKey: up to 15 bytes and their number in 16 bytes. Short texts are hashed by one
// multiplication and compared by two comparisons, without touching their bytes again. A longer text
// is represented by a hash and its length; equal keys of long texts must be confirmed by comparing
// bytes.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ruv {

// Two keys of short texts are equal exactly when the texts are.
struct WordKey {
  static constexpr size_t kShort = 15;  // bytes a key holds whole

  uint64_t low = 0;
  uint64_t high = 0;  // the top byte is the length, or 0xFF for long texts
  bool operator==(const WordKey&) const = default;
};

// The two halves of a product, folded: every bit of both factors reaches every bit (as in wyhash).
inline uint64_t fold_multiply(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Eight bytes at any alignment.
inline uint64_t load_word(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// The first `n` bytes of a loaded word. Requires: n <= 8.
inline uint64_t first_bytes(uint64_t word, size_t n) {
  static constexpr std::array<uint64_t, 9> kMasks = [] {
    std::array<uint64_t, 9> masks{};
    for (size_t i = 1; i < 9; ++i) masks[i] = (masks[i - 1] << 8) | 0xFF;
    return masks;
  }();
  return word & kMasks[n];
}

// The key of n bytes in two loaded words; bytes beyond n are ignored. Requires: n <= 15.
inline WordKey short_key(uint64_t low, uint64_t high, size_t n) {
  const uint64_t length = static_cast<uint64_t>(n) << 56;
  if (n < 8) return {first_bytes(low, n), length};
  return {low, first_bytes(high, n - 8) | length};
}

// The key of two texts joined. Requires: together they are short.
inline WordKey joined_key(const WordKey& left, const WordKey& right) {
  constexpr uint64_t kBytes = (uint64_t{1} << 56) - 1;
  const auto wide = [](const WordKey& key) {
    return (static_cast<unsigned __int128>(key.high & kBytes) << 64) | key.low;
  };
  const auto joined = wide(left) | (wide(right) << (8 * (left.high >> 56)));
  const uint64_t n = (left.high >> 56) + (right.high >> 56);
  return {static_cast<uint64_t>(joined), static_cast<uint64_t>(joined >> 64) | (n << 56)};
}

// The key of a text without its first n bytes. Requires: it is short, and longer than n.
inline WordKey tail_key(const WordKey& key, size_t n) {
  constexpr uint64_t kBytes = (uint64_t{1} << 56) - 1;
  const auto wide = (static_cast<unsigned __int128>(key.high & kBytes) << 64) | key.low;
  const auto tail = wide >> (8 * n);
  const uint64_t size = (key.high >> 56) - n;
  return {static_cast<uint64_t>(tail), static_cast<uint64_t>(tail >> 64) | (size << 56)};
}

// A hash of all 16 bytes.
inline uint64_t hash_of(const WordKey& key) {
  return fold_multiply(key.low ^ 0x2D358DCCAA6C78A5ULL, key.high ^ 0x8BB84B93962EACC9ULL);
}

// The hash of a long text, advanced by whole words of 8 bytes, so that all prefixes of a text are
// hashed in one walk.
class LongHash {
 public:
  void take(uint64_t word) { state_ = fold_multiply(state_ ^ word, 0x4B33A62ED433D4A3ULL); }
  // The key of the n_bytes taken so far, the last n_bytes % 8 of which are at the start of `rest`.
  WordKey key(uint64_t rest, size_t n_bytes) const {
    const uint64_t tail = first_bytes(rest, n_bytes % 8);
    const uint64_t mixed = fold_multiply(state_ ^ tail, 0x9E3779B97F4A7C15ULL ^ n_bytes);
    return {mixed, (0xFFULL << 56) | n_bytes};
  }

 private:
  uint64_t state_ = 0xA0761D6478BD642FULL;
};

// The key of n bytes. Requires: 16 bytes may be read from `at`, and 8 after the last byte.
inline WordKey padded_key(const char* at, size_t n) {
  if (n <= WordKey::kShort) return short_key(load_word(at), load_word(at + 8), n);
  LongHash hash;
  size_t i = 0;
  for (; i + 8 <= n; i += 8) hash.take(load_word(at + i));
  return hash.key(load_word(at + i), n);
}

// The same for a text whose surroundings must not be read.
inline WordKey key_of(std::string_view text) {
  char padded[24] = {};
  if (text.size() <= WordKey::kShort) {
    std::memcpy(padded, text.data(), text.size());
    return padded_key(padded, text.size());
  }
  LongHash hash;
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) hash.take(load_word(text.data() + i));
  std::memcpy(padded, text.data() + i, text.size() - i);
  return hash.key(load_word(padded), text.size());
}

}  // namespace ruv
