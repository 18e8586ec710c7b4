// DraftModel: a second, smaller model that guesses how the sequences of a large one go on. It has
// its own executor and pages; what it computed of a sequence stays as long as the guesses were
// right, and is taken back to where they were not.
#pragma once

#include <memory>

#include "base/clock.h"
#include "cache/page_list.h"
#include "engine/executor.h"
#include "engine/speculate/draft_text.h"

namespace ruv {

struct DraftModelLimits {
  int n_threads = 0;               // 0: one per core
  int64_t n_ctx = 0;               // longest sequence, in tokens of the draft model
  int64_t n_pages = 0;             // 0: one sequence of n_ctx
  int64_t max_sequences = 8;       // that are drafted for together
  int64_t max_batch_tokens = 512;  // of prompts, in one call
  KvType kv_type = KvType::f16;
};

class DraftModel;

// One sequence, as the draft model knows it. Its DraftModel must outlive it.
class DraftTimeline {
 public:
  explicit DraftTimeline(DraftModel& model);
  // Tokens whose keys and values are kept.
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
  // `target` is the model that is drafted for; both must outlive it. Fails: invalid (vocabularies
  // without a common ground, limits), out_of_memory.
  static Result<std::unique_ptr<DraftModel>> create(const Model& draft, const Model& target,
                                                    const DraftModelLimits& limits);

  struct Turn {
    DraftTimeline* timeline = nullptr;
    std::span<const Token> sequence;    // all its tokens
    int64_t max_tokens = 0;             // to draft
    std::vector<Token>* out = nullptr;  // ids of the target
  };
  // Guesses the likeliest continuations, of all turns in the same steps. `out` is empty where the
  // draft model has not read the whole sequence yet (max_batch_tokens are read in one call), where
  // pages or context do not suffice, and where it thinks the answer is over. Requires: at most
  // max_sequences turns, each with a timeline of its own.
  void propose(std::span<const Turn> turns);

  // Ids need no translation.
  bool same_vocabulary() const { return vocabularies_.equal(); }
  // A step that drafts one token for each of the turns takes so long, on average of late. 0: not
  // measured yet.
  double step_ms() const { return step_ms_; }
  const PagePool& pool() const { return pool_; }

 private:
  friend class DraftTimeline;
  DraftModel(const Model& draft, const DraftModelLimits& limits, VocabularyPair vocabularies,
             std::unique_ptr<Executor> executor);

  bool prepare(const Turn& turn);
  void pack();
  void step();

  const Model* model_;
  DraftModelLimits limits_;
  VocabularyPair vocabularies_;
  std::unique_ptr<Executor> executor_;
  PagePool pool_;
  SteadyClock clock_;
  double step_ms_ = 0;
  Batch batch_;
  std::vector<const Turn*> drafting_;  // turns that still want tokens
  std::vector<const Turn*> in_batch_;  // of them those whose next token the step gives, in order
};

}  // namespace ruv
