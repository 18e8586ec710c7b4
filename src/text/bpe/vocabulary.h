// Vocabulary: the texts of tokens as merging sees them. Finds a text exactly in about one cache
// miss, and lists which tokens begin at a place of a text.
//
// A trie would answer the second question with one dependent load per byte. Here a filter has two
// bits for each prefix of each token: "is a token" and "a longer token begins with this". The
// prefixes at a place are hashed incrementally, the bits of all lengths are loaded at once, and
// only likely hits are looked up. The filter may err towards yes; find() then decides. The bits of
// prefixes that share their first 3 bytes (6 for longer ones) are in the same cache line.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/bpe/word_key.h"
#include "text/token_index.h"

namespace ruv {

// Built by one thread (reserve, add, finish); afterwards immutable except for Entry::mark.
class Vocabulary {
 public:
  // Longer tokens are found by find() but never among the beginnings, so that a hostile vocabulary
  // cannot make every byte of a text cost as much as its longest token.
  static constexpr size_t kMaxBeginning = 512;
  static constexpr size_t kPadding = 16;  // bytes that must be readable after a text

  struct Entry {
    WordKey key;
    Token id = -1;
    // A note of the entry's user, 0 at first. Several threads may write it at once if they write
    // the same value.
    mutable std::atomic<uint32_t> mark{0};
  };
  // A prefix of a text that is probably a token.
  struct Beginning {
    WordKey key;
    uint64_t hash = 0;
    uint32_t size = 0;
  };

  void reserve(size_t n_tokens, size_t n_bytes);
  // Appends the text of the next id, counted from 0. Only findable texts are found; the first of
  // equal texts wins.
  void add(std::string_view text, bool findable);
  // Builds the tables. Nothing is found before this call.
  void finish();

  size_t size() const { return ends_.size() - 1; }
  // kPadding bytes may be read after its end.
  std::string_view text(Token id) const {
    const auto i = static_cast<size_t>(id);
    return {bytes_.data() + ends_[i], ends_[i + 1] - ends_[i]};
  }
  // Appends the texts of ids for which `keeps(id)`.
  template <class Keeps>
  void append_texts(std::span<const Token> ids, const Keeps& keeps, std::string& out) const {
    size_t n = 0;
    for (const Token id : ids) n += keeps(id) ? length(id) : 0;
    size_t at = out.size();
    out.resize(at + n + kPadding);  // short texts are copied with the bytes after them
    for (const Token id : ids) {
      if (!keeps(id)) continue;
      const std::string_view one = text(id);
      if (one.size() <= kPadding) {
        std::memcpy(out.data() + at, one.data(), kPadding);
      } else {
        std::memcpy(out.data() + at, one.data(), one.size());
      }
      at += one.size();
    }
    out.resize(at);
  }
  uint32_t length(Token id) const {
    const auto i = static_cast<size_t>(id);
    return ends_[i + 1] - ends_[i];
  }
  // Bytes of the longest findable text.
  size_t longest() const { return longest_; }

  void prefetch(uint64_t hash) const { __builtin_prefetch(&entries_[hash >> shift_]); }
  // Null when no token has this key. `hash` is hash_of(key), `at` where the text begins.
  const Entry* find(const WordKey& key, uint64_t hash, const char* at) const {
    for (size_t i = hash >> shift_;; i = (i + 1) & last_slot_) {
      const Entry& entry = entries_[i];
      if (entry.id < 0) return nullptr;
      if (entry.key == key && is_text_of(entry, at)) return &entry;
    }
  }
  // -1 when no token has this text.
  Token find(std::string_view text) const;
  // False: surely not a token. `low`: the first 8 bytes of a text of `size` bytes. Requires: size
  // >= 2.
  bool may_be_token(uint64_t low, size_t size, uint64_t hash) const {
    return (bits_at(place_of(low, size, hash)) & kIsToken) != 0;
  }

  // Writes the prefixes at `at` that may be tokens, of 2 to `limit` bytes, ascending; most of them
  // are. Returns their number. Requires: `out` has room for min(limit, kMaxBeginning).
  size_t beginnings(const char* at, size_t limit, Beginning* out) const;

 private:
  static constexpr uint32_t kIsToken = 1;
  static constexpr uint32_t kGoesOn = 2;

  bool is_text_of(const Entry& entry, const char* at) const {
    const uint64_t n = entry.key.high >> 56;
    return n <= WordKey::kShort || std::memcmp(text(entry.id).data(), at, length(entry.id)) == 0;
  }
  // The index of a prefix's two bits in filter_, counted in pairs of bits.
  uint64_t place_of(uint64_t low, size_t size, uint64_t hash) const {
    const uint64_t group = first_bytes(low, size == 2 ? 2 : size < 7 ? 3 : 6);
    const uint64_t line = (group * 0x9E3779B97F4A7C15ULL) >> line_shift_;
    return line * kPairsInLine + hash % kPairsInLine;
  }
  uint32_t bits_at(uint64_t place) const {
    return static_cast<uint32_t>(filter_[place / 32] >> (2 * (place % 32)));
  }
  void set_bits(uint64_t place, uint64_t bits) {
    filter_[place / 32] |= bits << (2 * (place % 32));
  }
  void add_beginnings(std::string_view text);
  void insert(const WordKey& key, Token id);

  std::string bytes_;
  std::vector<uint32_t> ends_ = {0};
  std::vector<bool> findable_;
  std::unique_ptr<Entry[]> entries_;
  size_t last_slot_ = 0;
  int shift_ = 63;
  static constexpr uint64_t kPairsInLine = 256;
  std::vector<uint64_t> filter_;
  int line_shift_ = 63;
  size_t longest_ = 0;
};

}  // namespace ruv
