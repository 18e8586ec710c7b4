// SymbolAlphabet: divides the code points into classes that no set of the given patterns tells
// apart, so that automata have a few dozen symbols instead of a million. A lookup takes one load
// for ASCII and two for other characters. Classes are made by refinement: starting from one class
// of all code points, each set splits the classes that it cuts.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/utf8.h"
#include "text/split/code_point_set.h"
#include "text/split/symbol_set.h"

namespace ruv {

class SymbolAlphabet {
 public:
  // Fails: unsupported (too many classes).
  static Result<SymbolAlphabet> create(std::span<const CodePointSet* const> sets);

  // The symbol for the end of the text, which is also the number of classes: smaller symbols.
  uint32_t end_symbol() const { return n_classes_; }
  uint32_t n_symbols() const { return n_classes_ + 1; }
  // The classes that make up sets[i] of create.
  const SymbolSet& symbols_of(size_t i) const { return symbols_[i]; }

  uint32_t class_of(uint32_t code_point) const {
    if (code_point < 128) return ascii_[code_point];
    return classes_[blocks_[code_point / kBlock] + code_point % kBlock];
  }
  struct Character {
    uint32_t symbol;
    uint32_t size;  // in bytes
  };
  // The character at `at`. An invalid byte counts as one U+FFFD, as in decode_utf8. Requires: at <
  // end.
  Character character_at(const char* at, const char* end) const {
    const auto lead = static_cast<uint8_t>(*at);
    if (lead < 128) return {ascii_[lead], 1};
    return wide_character_at(at, end);
  }

 private:
  static constexpr uint32_t kBlock = 128;
  struct Interval {
    uint32_t first;
    uint32_t class_id;
  };
  Character wide_character_at(const char* at, const char* end) const;
  static std::vector<Interval> intervals_of(std::span<const CodePointSet* const> sets);
  // Renames classes so that each is inside or outside `set`.
  void refine(std::vector<Interval>& intervals, const CodePointSet& set);
  // Builds the two-level table from intervals of equal class.
  void fill_table(std::span<const Interval> intervals);

  uint32_t n_classes_ = 1;
  std::array<uint8_t, 128> ascii_{};
  std::vector<uint32_t> blocks_;  // start in classes_ of each 128 code points
  std::vector<uint8_t> classes_;
  std::vector<SymbolSet> symbols_;
};

// Inverting the top bit turns continuation bytes (80 to BF) into values below 40 and all others
// into larger ones, so one comparison checks them all.
inline SymbolAlphabet::Character SymbolAlphabet::wide_character_at(const char* at,
                                                                   const char* end) const {
  const auto lead = static_cast<uint8_t>(*at);
  const auto tail = [&](int i) {
    return static_cast<uint32_t>(static_cast<uint8_t>(at[i]) ^ 0x80U);
  };
  if (lead >= 0xE0 && lead < 0xF0 && end - at >= 3) {
    const uint32_t value = (lead & 0xFU) << 12 | tail(1) << 6 | tail(2);
    const bool whole = (tail(1) | tail(2)) < 0x40;
    if (whole && value >= 0x800 && value - 0xD800 >= 0x800) return {class_of(value), 3};
  } else if (lead >= 0xC2 && lead < 0xE0 && end - at >= 2) {
    if (tail(1) < 0x40) return {class_of((lead & 0x1FU) << 6 | tail(1)), 2};
  } else if (lead >= 0xF0 && lead < 0xF5 && end - at >= 4) {
    const uint32_t value = (lead & 7U) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3);
    const bool whole = (tail(1) | tail(2) | tail(3)) < 0x40;
    if (whole && value >= 0x10000 && value <= kLastCodePoint) return {class_of(value), 4};
  }
  return {class_of(kReplacement), 1};
}

}  // namespace ruv
