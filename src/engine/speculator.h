// Speculator: drafts tokens for the sequences of an engine, from their own texts, from finished
// answers, from what their forms hardly leave a choice in, by a smaller model and by the model's
// own head, and learns from the outcome how far to draft. Used by the engine's thread.
#pragma once

#include <optional>

#include "engine/speculate/draft_length.h"
#include "engine/speculate/draft_model.h"
#include "engine/speculate/drafter.h"
#include "engine/speculate/head_drafter.h"
#include "engine/step_cost.h"
#include "ruv/engine.h"

namespace ruv {

class Sequence;

// The drafting state of one sequence.
struct SequenceDrafts {
  SequenceDrafter drafter;
  DraftLength length;
  std::optional<DraftTimeline> timeline;  // in the draft model, if there is one
  HeadPlace head;                         // of the model's head, if there is one
  Draft draft;                            // for the next step
  DraftChance chance;                     // the chance by which its length was chosen
  int64_t n_wanted = 0;                   // tokens of the draft to check
};

// What a model's head does with rows of a step.
enum class HeadUse : uint8_t { nothing, reads, drafts };

class Speculator {
 public:
  // The most tokens drafted for one sequence. Longer drafts pay only if nearly all of them are
  // right, and their rows cost time.
  static constexpr int64_t kMaxDraft = 16;

  // history_tokens: size of the history of finished answers, 16 bytes a token. `draft_model`: null
  // for none. `costs`, of the model to draft for, and the clock must outlive it.
  Speculator(int64_t history_tokens, uint64_t seed, std::unique_ptr<DraftModel> draft_model,
             const StepTimer& costs, const Clock& clock)
      : draft_model_(std::move(draft_model)),
        costs_(&costs),
        clock_(&clock),
        history_(history_tokens, seed) {}

  // The model has a head, which drafts where nothing else does; it must outlive this object.
  void use_head(HeadDrafter& head) { head_ = &head; }
  // What the head is to do with the rows of a step in which these sequences decode, after which
  // drafts by it would join these plain rows: nothing, where it does not pay. Throws
  // std::bad_alloc.
  HeadUse head_use(Sequence& sequence, const StepShape& plain);
  // What the head knows of it. Requires: head_use() was asked.
  static HeadPlace& head_of(Sequence& sequence);

  // Drafts at most max_drafts tokens in all for a step in which these sequences decode;
  // wanted(sequence) then returns each one's number.
  void propose(std::span<Sequence* const> decoding, int64_t max_drafts);
  static int64_t wanted(Sequence& sequence);
  // Reports that n_drafted tokens of the draft were checked and the first n_accepted were right.
  void record(Sequence& sequence, int64_t n_drafted, int64_t n_accepted);
  // Reports the step that was proposed for, unless it had prompts: its counts, without speed_up,
  // and its time, drafting included.
  void record_step(const SpeculativeStats& step, double ms);
  // Reports that the sequence's answer is finished: it joins the history.
  void finished(const Sequence& sequence);

  // Totals since the start, and the speed-up beside what plain steps cost.
  SpeculativeStats stats() const;

 private:
  // The most tokens that the draft model drafts; each takes a step of it.
  static constexpr int64_t kMaxModelDraft = 8;
  // Rows before a trial that the head reads where it did not pay before. What it has not read looks
  // like keys and values of zeros to it.
  static constexpr int64_t kHeadContext = 8;

  SequenceDrafts& drafts_of(Sequence& sequence);
  void grant(const Sequence& sequence, int64_t n_drafts);
  void look_up(Sequence& sequence, int64_t n_most);
  void ask_model(std::span<Sequence* const> decoding);
  void ask_head(std::span<Sequence* const> decoding);
  DraftChance head_chance(Sequence& sequence, int64_t n_most, const StepShape& step) const;

  std::unique_ptr<DraftModel> draft_model_;
  HeadDrafter* head_ = nullptr;
  const StepTimer* costs_;
  const Clock* clock_;
  DraftHistory history_;
  AcceptanceRates rates_{200};
  SpeculativeStats stats_;
  double measured_ms_ = 0;
  double plain_ms_ = 0;  // what plain steps would have taken for the same tokens
  // For the step being planned.
  StepShape plain_;  // one row of each sequence
  StepShape step_;   // with the drafts that were granted
  int64_t n_left_ = 0;
  std::vector<DraftModel::Turn> turns_;
  std::vector<HeadDrafter::Turn> head_turns_;
  std::vector<Sequence*> asking_;
  std::vector<Token> foreseen_;
};

}  // namespace ruv
