// StepChoices: chooses the tokens after all rows of a step on all threads, before the first one is
// reported. Choosing among 150,000 tokens costs one thread about 3 % of a step of 8 sequences.
#pragma once

#include <span>
#include <vector>

#include "engine/executor.h"
#include "engine/sequence.h"

namespace ruv {

class StepChoices {
 public:
  // Allocates for max_rows rows of logits and a vocabulary of n_vocab; what is allocated later are
  // the threads' working memories, once.
  StepChoices(int64_t max_rows, int64_t n_vocab);

  void clear() { items_.clear(); }
  // `logits`: those of row `row` of the sequence, see Sequence::begin_step.
  void add(Sequence& sequence, int64_t row, std::span<float> logits);
  // `logits`: those of the i-th of its next rows, for Sequence::score.
  void add_scored(Sequence& sequence, int64_t i, std::span<float> logits);
  // Chooses for every row added, and scores. Where memory ran out, a row has no choice.
  void choose(Executor& executor);

 private:
  // A part of a greedy row, a whole row, or one of a prompt that is scored.
  struct Item {
    Sequence* sequence;
    int64_t row;
    std::span<float> logits;
    Token first;  // id of the part's first logit; kChooses: the sequence does; kScores: a prompt's
    Token likeliest = 0;   // of the part
    bool follows = false;  // it is chosen with the item before it, and after it
  };

  static constexpr Token kChooses = -1, kScores = -2;

  static void choose(Item& item, SampleScratch& scratch);
  void choose_with_followers(size_t i, SampleScratch& scratch);
  size_t choose_of_parts(size_t i);

  std::vector<Item> items_;
  std::vector<SampleScratch> scratch_;  // one for each thread
};

}  // namespace ruv
