// HeadDrafter: drafts by the head that a model's file or another one brings (model/draft_head.h).
// After each step the head reads the step's rows, so that it knows all of every text, and of
// sequences that want drafts says the next token; it then drafts further tokens from its own
// states. Its keys and values are in the sequences' pages. Where there are several heads without a
// layer, which know nothing of a text but a row's state, the first one says the next token and the
// others those after it. Used by the engine's thread.
#pragma once

#include <span>
#include <vector>

#include "base/clock.h"
#include "device/batch_builder.h"
#include "engine/executor.h"
#include "engine/step_cost.h"
#include "model/draft_head.h"

namespace ruv {

// What the head knows of a sequence. It holds until the next step.
struct HeadPlace {
  int64_t reading = -1;  // of the drafter, which the rest is of
  int64_t n_tokens = 0;  // of the sequence
  Token next = -1;       // the likeliest one after them; -1: the answer's end
  int32_t row = 0;       // of that reading, or of the step, whose state further drafts are made of
};

class HeadDrafter {
 public:
  // All must outlive it. A model without a head is never drafted for, nor by one with a layer where
  // pages have tails.
  HeadDrafter(const Model& model, Executor& executor, const Clock& clock);
  bool exists() const { return exists_; }

  // Begins reading a step that was computed.
  void clear();
  // Rows of the step from `row` on, at places from `first` on of a sequence with these pages, are
  // followed by these tokens, one each. place: where to say what comes after the last; or null.
  // Throws std::bad_alloc.
  void add(int64_t first, std::span<const PageId> pages, int64_t row, std::span<const Token> next,
           HeadPlace* place);
  // Computes what was added. Returns the milliseconds that it took.
  double read();
  // Something else has been computed, or will be.
  void forget() { ++reading_; }

  // Whether it can draft after a sequence's n_tokens tokens.
  bool knows(const HeadPlace& place, int64_t n_tokens) const {
    return place.reading == reading_ && place.n_tokens == n_tokens && place.next >= 0;
  }
  struct Turn {
    const HeadPlace* place = nullptr;
    std::span<const PageId> pages;
    int64_t max_tokens = 0;             // to draft
    std::vector<Token>* out = nullptr;  // what it had is replaced
  };
  // Drafts for all turns in the same steps. Throws std::bad_alloc. Requires: knows() all places;
  // max_tokens from 1 to most_tokens().
  void propose(std::span<const Turn> turns);
  // The most tokens that it can draft after n_tokens: as these pages have room, or one by each
  // head.
  int64_t most_tokens(std::span<const PageId> pages, int64_t n_tokens) const {
    if (!has_layer()) return std::ssize(model_->head->parallel);
    return std::ssize(pages) * kPageTokens - n_tokens + 2;
  }
  // What a token costs that is drafted after n_tokens.
  double token_ms(int64_t n_tokens) const {
    return costs_.cost().step_ms(StepShape::of(n_tokens, 1, 1));
  }

 private:
  bool has_layer() const { return model_->head->has_layer(); }
  double run(bool goes_on, int64_t ahead);
  // Rows of batch_, and of the step before those that they read.
  void append(int64_t first, std::span<const PageId> pages, int64_t row,
              std::span<const Token> next);
  void draft_next(int64_t ahead);
  Token likeliest(int64_t output) const;

  const Model* model_;
  Executor* executor_;
  const Clock* clock_;
  bool exists_;
  StepTimer costs_;
  int64_t reading_ = 0;
  BatchBuilder batch_;
  StepShape shape_;            // of batch_
  std::vector<int32_t> from_;  // the row before that each row of batch_ reads
  HostRows logits_;
  std::vector<HeadPlace*> places_;  // in the order of the batch's logits
  struct Going {
    const Turn* turn;
    int32_t row;
  };
  std::vector<Going> going_, still_going_;  // turns that want more tokens
};

}  // namespace ruv
