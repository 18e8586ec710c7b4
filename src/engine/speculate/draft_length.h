// DraftLength: how many tokens to draft for a sequence: as many as give the most tokens per
// millisecond by measured acceptance and measured cost of a step, none where drafting loses.
//
// Losses are bounded by an account, whatever the text: each drafted step pays what its rows cost
// beyond a plain step and earns the tokens that were right, both in units of one plain token. A
// step may draft only when, with nothing right, the account stays within
//     kFreeTokens + kLossShare · tokens generated,
// so n tokens take at most n + kFreeTokens + kLossShare · n times a plain token: 3 % for n = 200.
#pragma once

#include <optional>

#include "engine/speculate/acceptance_rates.h"
#include "engine/speculate/step_costs.h"

namespace ruv {

// A draft at hand and the step it would join.
struct DraftChance {
  DraftSource source = DraftSource::sequence;
  int64_t n_matched = 0;
  int64_t n_available = 0;    // tokens that could be checked; 0: nothing to propose
  int64_t n_rows = 1;         // of the step without these drafts: this sequence's row included
  int64_t n_sequences = 1;    // that get a token in that step: this one included
  double draft_token_ms = 0;  // what making one draft token costs; look-ups cost nothing
};

class DraftLength {
 public:
  static constexpr double kFreeTokens = 2;
  static constexpr double kLossShare = 0.02;
  static constexpr double kMaxCredit = 4;       // plain tokens that gains may set aside
  static constexpr double kMinGain = 1.02;      // what drafting must promise
  static constexpr int64_t kMeasureEvery = 32;  // one step in so many is plain, to measure it
  static constexpr int64_t kTrialTokens = 2;
  static constexpr double kKnown = 8;       // observations after which trials can wait
  static constexpr int64_t kFirstWait = 8;  // steps between trials of what loses; doubles
  static constexpr int64_t kLongestWait = 256;

  // `costs` and `rates` (of all sequences, learned here too) must outlive it.
  DraftLength(const StepCosts& costs, AcceptanceRates& rates)
      : costs_(&costs), shared_(&rates), own_(kMemory, &rates) {}

  // Tokens to draft now, at most n_available.
  int64_t choose(const DraftChance& chance) const;
  // What became of it; n_drafted may be less than was chosen, 0 for a plain step. To be called for
  // each step in which the sequence decodes.
  void record(const DraftChance& chance, int64_t n_drafted, int64_t n_accepted);

  // What drafting has cost so far beyond plain steps, in plain tokens; below 0: gained.
  double loss() const { return loss_; }
  int64_t n_tokens() const { return n_tokens_; }

 private:
  static constexpr double kMemory = 64;

  struct Trial {
    int64_t wait = kFirstWait;
    std::optional<int64_t> next;  // token count from which on one is due
  };
  bool trial_due(DraftClass kind) const;
  double plain_token_ms(const DraftChance& chance) const;
  double extra_tokens(const DraftChance& chance, int64_t n_drafted, double ms) const;
  int64_t affordable(const DraftChance& chance, int64_t n_drafted) const;
  int64_t best(const DraftChance& chance) const;

  const StepCosts* costs_;
  AcceptanceRates* shared_;
  AcceptanceRates own_;
  std::array<Trial, DraftClass::kCount> trials_{};
  double loss_ = 0;
  int64_t n_tokens_ = 0;
  int64_t n_since_plain_ = 0;
};

}  // namespace ruv
