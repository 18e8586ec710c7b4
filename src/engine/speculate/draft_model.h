// DraftModel: a second, smaller model that drafts continuations for the sequences of a large one.
// It has its own executor and pages. What it computed for a sequence is kept as far as the drafts
// were right, and rewound to the first wrong one. Used by the engine's thread.
#pragma once

#include <memory>

#include "base/clock.h"
#include "cache/page_list.h"
#include "device/batch_builder.h"
#include "engine/executor.h"
#include "engine/speculate/draft_text.h"
#include "engine/step_cost.h"

namespace ruv {

// Limits of the draft model's own executor and pages.
struct DraftModelLimits {
  int n_threads = 0;               // 0: one per core
  int64_t n_ctx = 0;               // longest sequence, in tokens of the draft model
  int64_t n_pages = 0;             // 0: one sequence of n_ctx
  int64_t max_sequences = 8;       // drafted for in one call
  int64_t max_batch_tokens = 512;  // of prompts, in one call
  KvType kv_type = KvType::f16;
};

class DraftModel;

// One sequence in the draft model. The DraftModel must outlive it.
class DraftTimeline {
 public:
  explicit DraftTimeline(DraftModel& model);
  // Tokens whose keys and values are in its pages.
  int64_t n_computed() const { return static_cast<int64_t>(computed_.size()); }

 private:
  friend class DraftModel;
  int64_t n_known() const { return static_cast<int64_t>(text_.tokens().size() + drafted_.size()); }
  Token token(int64_t place) const;

  DraftText text_;
  PageList pages_;
  std::vector<Token> computed_;
  std::vector<Token> drafted_;  // after the text
};

class DraftModel {
 public:
  // `target` is the model to draft for; both models must outlive this object. Fails: invalid
  // (vocabularies that cannot be related, limits), out_of_memory.
  static Result<std::unique_ptr<DraftModel>> create(const Model& draft, const Model& target,
                                                    const DraftModelLimits& limits);

  struct Turn {
    DraftTimeline* timeline = nullptr;
    std::span<const Token> sequence;    // all its tokens
    int64_t max_tokens = 0;             // to draft
    std::vector<Token>* out = nullptr;  // ids of the target
  };
  // Drafts the likeliest continuations, all turns in the same steps. `out` stays empty if the draft
  // model has not read the whole sequence yet (one call reads max_batch_tokens), if pages or
  // context do not suffice, or if it expects the answer to be over. Requires: at most max_sequences
  // turns, each with its own timeline. `clock` measures its steps.
  void propose(std::span<const Turn> turns, const Clock& clock);

  // Whether ids need no translation.
  bool same_vocabulary() const { return vocabularies_.equal(); }
  // What a step of this model costs.
  const StepCost& cost() const { return costs_.cost(); }
  const PagePool& pool() const { return pool_; }

 private:
  friend class DraftTimeline;
  DraftModel(const Model& draft, const DraftModelLimits& limits, VocabularyPair vocabularies,
             std::unique_ptr<Executor> executor);

  // Brings a timeline up to date with its sequence; false when it cannot draft now.
  bool prepare(const Turn& turn);
  // Builds the batch of the next step.
  void pack();
  void step(const Clock& clock);

  const Model* model_;
  DraftModelLimits limits_;
  VocabularyPair vocabularies_;
  std::unique_ptr<Executor> executor_;
  PagePool pool_;
  StepTimer costs_;
  BatchBuilder batch_;
  StepShape shape_;                    // of batch_
  std::vector<const Turn*> drafting_;  // turns that still want tokens
  // The ones among them whose next token the step gives, in order.
  std::vector<const Turn*> in_batch_;
};

}  // namespace ruv
