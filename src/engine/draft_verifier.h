// DraftVerifier: turns the logits of a step into tokens. The first row of each sequence is chosen
// by all threads together; rows after it are drafts, which count as long as each is what the row
// before it chose.
#pragma once

#include <span>

#include "engine/speculator.h"
#include "engine/step_choices.h"
#include "engine/step_packer.h"

namespace ruv {

class DraftVerifier {
 public:
  // All outlive it. At most max_sequences sequences in a step.
  DraftVerifier(Executor& executor, Speculator& speculator, PrefixCache& prefixes,
                int64_t max_sequences, int64_t n_vocab);

  // Chooses the token after the last known one, for all sequences that gave logits.
  void choose(std::span<const PackedRows> rows, HostRows logits);
  // Reports the tokens of one sequence and returns how many drafted ones were right. A sequence
  // that ends leaves what it computed to the prefix cache. Where memory is out, the sequence ends
  // with out_of_memory. Requires: its rows gave logits, and `choose` was called.
  int64_t accept(const PackedRows& rows, HostRows logits, int64_t now_ns);

 private:
  Executor* executor_;
  Speculator* speculator_;
  PrefixCache* prefixes_;
  StepChoices choices_;
};

}  // namespace ruv
