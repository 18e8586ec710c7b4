#include "text/split/border_automaton.h"

#include <map>

namespace ruv {
namespace {

constexpr size_t kMaxBorderStates = 256;

// The state of each step; ScanDfa::kDead between matches.
using StepStates = std::vector<uint32_t>;

// Moves all steps over a symbol; true when a piece ends before it. A step begins anew where a step
// before it cuts.
bool advance(std::span<const ScanDfa* const> steps, StepStates& states, uint32_t symbol) {
  bool border = false;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (states[i] != ScanDfa::kDead && !border) {
      states[i] = steps[i]->step(states[i], symbol).state;
      if (states[i] != ScanDfa::kDead) continue;
      border = true;
    }
    states[i] = steps[i]->step(steps[i]->start(), symbol).state;
    border |= states[i] != ScanDfa::kDead;
  }
  return border;
}

}  // namespace

bool BorderAutomaton::fits(const ScanDfa& step) {
  if (step.may_be_empty() || step.start() != step.text_start()) return false;
  std::vector<bool> behind_a_character(step.n_states());
  for (uint32_t state = 1; state < step.n_states(); ++state) {
    for (uint32_t symbol = 0; symbol < step.n_symbols(); ++symbol) {
      behind_a_character[step.step(state, symbol).state] = true;
    }
  }
  for (uint32_t state = 1; state < step.n_states(); ++state) {
    for (uint32_t symbol = 0; behind_a_character[state] && symbol < step.n_symbols(); ++symbol) {
      if (!step.step(state, symbol).match) return false;
    }
  }
  return true;
}

std::optional<BorderAutomaton> BorderAutomaton::create(std::span<const ScanDfa* const> steps,
                                                       uint32_t n_symbols) {
  BorderAutomaton made;
  made.n_symbols_ = n_symbols;
  std::vector<StepStates> states{StepStates(steps.size(), ScanDfa::kDead)};
  std::map<StepStates, uint32_t> ids{{states[0], kFresh}};
  for (size_t state = 0; state < states.size(); ++state) {
    for (uint32_t symbol = 0; symbol < n_symbols; ++symbol) {
      StepStates next = states[state];
      const bool border = symbol + 1 < n_symbols && advance(steps, next, symbol);
      const auto [at, added] = ids.try_emplace(next, static_cast<uint32_t>(states.size()));
      if (added) states.push_back(next);
      made.table_.push_back(at->second * 2 + (border ? 1 : 0));
    }
    if (states.size() > kMaxBorderStates) return std::nullopt;
  }
  return made;
}

}  // namespace ruv
