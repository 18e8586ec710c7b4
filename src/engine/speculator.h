// Speculator: guesses tokens ahead for the sequences of an engine, from their own texts and from
// finished answers, and learns from what becomes of the guesses how far to guess.
#pragma once

#include "engine/speculate/draft_length.h"
#include "engine/speculate/drafter.h"
#include "engine/speculate/speculative_stats.h"

namespace ruv {

class Sequence;

// Of one sequence.
struct SequenceDrafts {
  SequenceDrafter drafter;
  DraftLength length;
  Draft draft;         // of the step to come
  DraftChance chance;  // that the draft was chosen by
};

class Speculator {
 public:
  // Tokens guessed ahead of one sequence at most.
  static constexpr int64_t kMaxDraft = 16;

  // History of finished answers: 16 bytes a token.
  explicit Speculator(int64_t history_tokens, uint64_t seed) : history_(history_tokens, seed) {}

  // The step that is planned next.
  struct Plan {
    int64_t n_sequences = 0;  // that decode, one row each without guesses
    int64_t n_drafts = 0;     // guesses that other sequences have in it already
  };
  // Whether it should be plain, so that drafts have something to be compared with.
  bool wants_plain_step(int64_t n_sequences) const { return meter_.plain_due(n_sequences); }
  // Returns how many tokens of sequence.drafts()->draft to check. Requires: the sequence decodes.
  int64_t propose(Sequence& sequence, const Plan& plan);
  // Of the draft n_drafted tokens were checked and the first n_accepted were right.
  void record(Sequence& sequence, int64_t n_drafted, int64_t n_accepted);
  // A step without prompts.
  void record_step(const SpeculationMeter::Step& step);
  // The sequence's answer is over.
  void finished(const Sequence& sequence);

  SpeculativeStats stats() const { return meter_.stats(); }

 private:
  DraftHistory history_;
  StepCosts costs_;
  AcceptanceRates rates_{200};
  SpeculationMeter meter_;
};

}  // namespace ruv
