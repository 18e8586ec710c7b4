// StepChoices: chooses the next tokens of all sequences of a step on all threads, before the first
// one is reported. Choosing among 150,000 tokens costs one thread about 3 % of a step of 8
// sequences.
#pragma once

#include <span>
#include <vector>

#include "engine/executor.h"
#include "engine/sequence.h"

namespace ruv {

class StepChoices {
 public:
  // Allocates for max_sequences sequences and a vocabulary of n_vocab; nothing is allocated later.
  StepChoices(int64_t max_sequences, int64_t n_vocab);

  void clear() { items_.clear(); }
  // `logits`: the logits after the sequence's last known token.
  void add(Sequence& sequence, std::span<float> logits);
  // Chooses for every sequence added. A sequence for which that failed has
  // Sequence::choosing_failed.
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
