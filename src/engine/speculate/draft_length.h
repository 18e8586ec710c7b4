// DraftLength: how many tokens to draft for a sequence: the number that promises the most tokens
// per millisecond, by measured acceptance and measured cost of a step; none where drafting loses.
//
// Losses are bounded whatever the text, by an account in units of one plain token: each drafted
// step pays what its rows cost beyond a plain step, and earns the tokens that were right. A step
// may draft only if, with nothing right, the account stays within
//     kFreeTokens + kLossShare · tokens generated,
// so n tokens take at most n + kFreeTokens + kLossShare · n times a plain token: 3 % for n = 200.
#pragma once

#include <optional>

#include "engine/speculate/acceptance_rates.h"
#include "engine/step_cost.h"

namespace ruv {

// A draft and the step that it would join.
struct DraftChance {
  DraftSource source = DraftSource::sequence;
  int64_t n_matched = 0;
  int64_t n_available = 0;    // tokens that could be checked; 0: nothing to propose
  StepShape step;             // without these drafts, this sequence's row included
  int64_t n_tokens = 0;       // of this sequence: its drafts follow them
  int64_t n_sequences = 1;    // that get a token in that step, this one included
  double draft_token_ms = 0;  // what making one draft token costs; look-ups cost nothing
};

class DraftLength {
 public:
  static constexpr double kFreeTokens = 2;
  static constexpr double kLossShare = 0.02;
  static constexpr double kMaxCredit = 4;   // credit that gains may build up, in plain tokens
  static constexpr double kMinGain = 1.02;  // predicted speed-up below which nothing is drafted
  static constexpr int64_t kTrialTokens = 2;
  static constexpr double kKnown = 8;       // observations after which trials become rare
  static constexpr int64_t kFirstWait = 8;  // steps between trials of a losing class; doubles
  static constexpr int64_t kLongestWait = 256;

  // `costs` and `rates` (of all sequences, learned here too) must outlive it.
  DraftLength(const StepTimer& costs, AcceptanceRates& rates)
      : costs_(&costs), shared_(&rates), own_(kMemory, &rates) {}

  // The number of tokens to draft now, at most n_available.
  int64_t choose(const DraftChance& chance) const;
  // Whether drafts such as these promise a gain, or are to be tried within the next n tokens. What
  // has to be prepared for them may be left out otherwise.
  bool considers(const DraftChance& chance, int64_t n) const;
  // Reports the outcome; n_drafted may be less than was chosen, 0 for a plain step. Call it for
  // each step in which the sequence decodes.
  void record(const DraftChance& chance, int64_t n_drafted, int64_t n_accepted);

  // The cost of drafting so far, beyond plain steps, in plain tokens; negative: it gained.
  double loss() const { return loss_; }
  int64_t n_tokens() const { return n_tokens_; }

 private:
  static constexpr double kMemory = 64;

  struct Trial {
    int64_t wait = kFirstWait;
    std::optional<int64_t> next;  // token count at which the next one is due
  };
  bool trial_due(DraftClass kind, int64_t n_tokens) const;
  double step_ms(const DraftChance& chance, int64_t n_drafted) const;
  double most_ms(const DraftChance& chance, int64_t n_drafted) const;
  double plain_token_ms(const DraftChance& chance) const;
  double extra_tokens(const DraftChance& chance, int64_t n_drafted, double ms) const;
  int64_t affordable(const DraftChance& chance, int64_t n_drafted) const;
  int64_t best(const DraftChance& chance) const;

  const StepTimer* costs_;
  AcceptanceRates* shared_;
  AcceptanceRates own_;
  std::array<Trial, DraftClass::kCount> trials_{};
  double loss_ = 0;
  int64_t n_tokens_ = 0;
};

}  // namespace ruv
