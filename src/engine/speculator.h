// Speculator: guesses tokens ahead for the sequences of an engine, from their own texts, from
// finished answers and by a smaller model, and learns from what becomes of the guesses how far to
// guess.
#pragma once

#include <optional>

#include "engine/speculate/draft_length.h"
#include "engine/speculate/draft_model.h"
#include "engine/speculate/drafter.h"
#include "engine/speculate/speculative_stats.h"

namespace ruv {

class Sequence;

// Of one sequence.
struct SequenceDrafts {
  SequenceDrafter drafter;
  DraftLength length;
  std::optional<DraftTimeline> timeline;  // of the draft model, where there is one
  Draft draft;                            // of the step to come
  DraftChance chance;                     // that its length was chosen by
  int64_t n_wanted = 0;                   // of it
};

class Speculator {
 public:
  // Tokens guessed ahead of one sequence at most.
  static constexpr int64_t kMaxDraft = 16;

  // History of finished answers: 16 bytes a token. `draft_model`: null for none.
  Speculator(int64_t history_tokens, uint64_t seed, std::unique_ptr<DraftModel> draft_model)
      : draft_model_(std::move(draft_model)), history_(history_tokens, seed) {}

  // Guesses at most max_drafts tokens for a step in which these sequences decode: what
  // wanted(sequence) then says.
  void propose(std::span<Sequence* const> decoding, int64_t max_drafts);
  static int64_t wanted(Sequence& sequence);
  // Of the draft n_drafted tokens were checked and the first n_accepted were right.
  void record(Sequence& sequence, int64_t n_drafted, int64_t n_accepted);
  // A step without prompts; its rows alone took rows_ms.
  void record_step(const SpeculationMeter::Step& step, double rows_ms);
  // The sequence's answer is over.
  void finished(const Sequence& sequence);

  SpeculativeStats stats() const { return meter_.stats(); }

 private:
  // Tokens that the draft model guesses at most: each takes a step of it.
  static constexpr int64_t kMaxModelDraft = 8;

  SequenceDrafts& drafts_of(Sequence& sequence);
  void look_up(Sequence& sequence, int64_t n_most);
  void ask_model(std::span<Sequence* const> decoding);

  std::unique_ptr<DraftModel> draft_model_;
  DraftHistory history_;
  StepCosts costs_;
  AcceptanceRates rates_{200};
  SpeculationMeter meter_;
  // Of the step that is planned.
  int64_t n_sequences_ = 0;
  int64_t n_left_ = 0;
  int64_t n_granted_ = 0;
  std::vector<DraftModel::Turn> turns_;
  std::vector<Sequence*> asking_;
};

}  // namespace ruv
