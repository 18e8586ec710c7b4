// PieceScanner: the plain way to run a splitting step: finds the next match from a place, and the
// gap before it. Exact for every pattern, but it reads characters again after a failed scan;
// WordAutomaton is the fast way for most patterns.
#pragma once

#include <memory>
#include <string_view>

#include "text/split/border_automaton.h"
#include "text/split/scan_dfa.h"
#include "text/split/symbol_alphabet.h"

namespace ruv {

class PieceScanner {
 public:
  // `borders` are those of simple steps before this one; the alphabet outlives the scanner.
  PieceScanner(const SymbolAlphabet* alphabet, ScanDfa match, BorderAutomaton borders);

  // The result at a place: a gap [at, begin), possibly empty, then a match [begin, end) if found.
  // Without a match the gap reaches to the next border or the end of the text.
  struct Piece {
    size_t begin = 0;
    size_t end = 0;
    bool found = false;
  };
  // The match at or after `at`, leftmost first. A match of nothing at `no_empty_at` does not count.
  // Requires: at <= text.size().
  Piece next(std::string_view text, size_t at, size_t no_empty_at = SIZE_MAX) const;

  // The first byte in [at, end) that may be in a match or next to a border, or `end`. A piece
  // without such bytes stays whole.
  size_t skip_dull(std::string_view text, size_t at, size_t end) const {
    while (at < end && dull_[static_cast<uint8_t>(text[at])]) ++at;
    return at;
  }

  const SymbolAlphabet& alphabet() const { return *alphabet_; }
  const ScanDfa& match() const { return match_; }
  const BorderAutomaton& borders() const { return borders_; }

 private:
  static constexpr size_t kNoMatch = SIZE_MAX;
  struct FailedScans;
  // The end of the match that begins at `at`, where the borders are in state `border`.
  size_t match_end(std::string_view text, size_t at, uint32_t border, FailedScans& failed) const;

  const SymbolAlphabet* alphabet_;
  ScanDfa match_;
  BorderAutomaton borders_;
  // ASCII characters that no match begins with and that are in no match of a simple step.
  std::array<bool, 256> dull_{};
};

}  // namespace ruv
