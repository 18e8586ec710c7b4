// BorderAutomaton: runs several splitting steps of a simple kind inside the automaton of the step
// that follows them. A step is simple when every prefix of a match is a match (a digit, up to three
// digits, a run of a class): then the next character alone decides whether a piece ends before it.
// A state is the product of the steps' states; since products grow fast, more than 256 states are
// refused.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "text/split/scan_dfa.h"

namespace ruv {

class BorderAutomaton {
 public:
  // Whether a step is of the simple kind.
  static bool fits(const ScanDfa& step);
  // Builds the product of steps that fit, outermost first; of no steps, an automaton without
  // borders. Nothing when there are too many states.
  static std::optional<BorderAutomaton> create(std::span<const ScanDfa* const> steps,
                                               uint32_t n_symbols);

  // The state at the beginning of a text.
  static constexpr uint32_t kFresh = 0;
  struct Step {
    uint32_t state;
    bool border;  // a piece ends before the symbol
  };
  // Requires: the symbol is a class, not the end.
  Step step(uint32_t state, uint32_t symbol) const {
    const uint32_t packed = table_[state * n_symbols_ + symbol];
    return {packed >> 1, (packed & 1) != 0};
  }
  uint32_t n_states() const { return static_cast<uint32_t>(table_.size() / n_symbols_); }

 private:
  uint32_t n_symbols_ = 0;
  std::vector<uint32_t> table_;
};

}  // namespace ruv
