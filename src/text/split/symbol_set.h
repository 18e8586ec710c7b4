// SymbolSet: a set of the symbols that an automaton reads, as bits. Symbols are classes of
// characters; the last one is the end of the text.
#pragma once

#include <array>
#include <cstdint>

namespace ruv {

inline constexpr uint32_t kMaxSymbols = 256;

class SymbolSet {
 public:
  void add(uint32_t symbol) { words_[symbol / 64] |= uint64_t{1} << (symbol % 64); }
  bool contains(uint32_t symbol) const { return ((words_[symbol / 64] >> (symbol % 64)) & 1) != 0; }
  bool empty() const { return (words_[0] | words_[1] | words_[2] | words_[3]) == 0; }
  // Every symbol, used or not.
  static SymbolSet all() {
    SymbolSet set;
    set.words_.fill(~uint64_t{0});
    return set;
  }
  SymbolSet operator&(const SymbolSet& other) const {
    SymbolSet out;
    for (size_t i = 0; i < 4; ++i) out.words_[i] = words_[i] & other.words_[i];
    return out;
  }
  // The symbols of this set that are not in the other.
  SymbolSet without(const SymbolSet& other) const {
    SymbolSet out;
    for (size_t i = 0; i < 4; ++i) out.words_[i] = words_[i] & ~other.words_[i];
    return out;
  }
  SymbolSet& operator|=(const SymbolSet& other) {
    for (size_t i = 0; i < 4; ++i) words_[i] |= other.words_[i];
    return *this;
  }

 private:
  std::array<uint64_t, kMaxSymbols / 64> words_{};
};

}  // namespace ruv
