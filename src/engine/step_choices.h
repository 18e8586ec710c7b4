// StepChoices: the next tokens of all sequences of a step, chosen by all threads before the first
// is told. A vocabulary of 150,000 costs one thread about 3 % of a step of 8 sequences.
#pragma once

#include <span>
#include <vector>

#include "engine/executor.h"
#include "engine/sequence.h"

namespace ruv {

class StepChoices {
 public:
  // For at most so many sequences of a vocabulary: nothing is allocated later.
  StepChoices(int64_t max_sequences, int64_t n_vocab);

  void clear() { items_.clear(); }
  // `logits`: those behind the sequence's last known token.
  void add(Sequence& sequence, std::span<float> logits);
  // Each sequence added has chosen, or Sequence::choosing_failed.
  void choose(Executor& executor);

 private:
  // A part of a greedy row, or a whole row.
  struct Item {
    Sequence* sequence;
    std::span<float> logits;
    Token first;          // id of the part's first logit; -1: the sequence chooses by itself
    Token likeliest = 0;  // of the part
  };

  static void choose(Item& item);

  std::vector<Item> items_;
};

}  // namespace ruv
