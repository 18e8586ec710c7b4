// ScanDfa: a pattern as a deterministic automaton over the symbols of an alphabet. Started at a
// place, it finds the match that begins there, the one a backtracking matcher would find
// (alternatives in order, loops greedy or lazy as written), in one pass.
//
// A state is an ordered list of places in the pattern, the preferred first: the threads that a
// backtracking matcher would try in that order. When a thread reaches the match, all less preferred
// ones are dropped. A move on a symbol also reports whether a match ends *before* that symbol; with
// this delay of one symbol, lookahead of one character and the end of the text are ordinary
// symbols. The table is built completely when compiling (subset construction); the number of states
// is limited, since patterns come from files.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "text/split/split_regex.h"
#include "text/split/symbol_set.h"

namespace ruv {

class ScanDfa {
 public:
  // `symbols_of(i)` returns the symbols of regex.sets()[i]; the last symbol is the end of the text.
  // Fails: unsupported (too large, naming the limit).
  static Result<ScanDfa> compile(const SplitRegex& regex, uint32_t n_symbols,
                                 const std::function<const SymbolSet&(uint32_t)>& symbols_of);

  static constexpr uint32_t kDead = 0;
  struct Step {
    uint32_t state;  // kDead: no match can begin or continue
    bool match;      // a match ends before the symbol
  };
  Step step(uint32_t state, uint32_t symbol) const {
    const uint32_t packed = table_[state * n_symbols_ + symbol];
    return {packed >> 1, (packed & 1) != 0};
  }
  uint32_t n_states() const { return static_cast<uint32_t>(table_.size() / n_symbols_); }
  uint32_t n_symbols() const { return n_symbols_; }
  uint32_t start() const { return start_; }
  // The start state at the beginning of a text; it differs when the pattern contains \A.
  uint32_t text_start() const { return text_start_; }
  // Whether the pattern matches the empty text.
  bool may_be_empty() const { return may_be_empty_; }

 private:
  friend class ScanDfaBuilder;
  uint32_t n_symbols_ = 0;
  uint32_t start_ = 0;
  uint32_t text_start_ = 0;
  bool may_be_empty_ = false;
  std::vector<uint32_t> table_;
};

}  // namespace ruv
