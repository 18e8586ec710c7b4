// StepPacker: turns the rows of a plan into the batch of a step, and gets the pages they write.
#pragma once

#include <span>
#include <vector>

#include "device/batch_builder.h"
#include "engine/prefix_cache.h"
#include "engine/schedule.h"

namespace ruv {

// Rows of one sequence in a batch.
struct PackedRows {
  Sequence* sequence;
  int64_t n_tokens;
  int64_t n_drafts;
  int64_t first_output;       // index of the first row of logits that choose; -1: it gives none
  int64_t n_hidden;           // its last rows that give hidden states
  int64_t hidden_output;      // index of the first of these
  bool in_prompt = false;     // they are of its prompt
  int64_t n_scored = 0;       // its first rows that give logits for the prompt's scores
  int64_t first_scored = -1;  // index of the first of these
};

class StepPacker {
 public:
  // `prefixes` and `memory` outlive it. Steps of at most max_rows rows, max_sequences sequences and
  // max_outputs rows of logits allocate nothing for the batch.
  StepPacker(PrefixCache& prefixes, KvPages& memory, int64_t max_rows, int64_t max_sequences,
             int64_t max_outputs);

  void clear();
  // Packs rows of one sequence. Leaves out what gets no page after all: the next plan sees that.
  // Throws std::bad_alloc with nothing packed.
  void add(Sequence& sequence, const StepPlan::Rows& rows);

  const Batch& batch() const { return batch_.batch(); }
  std::span<const PackedRows> rows() const { return rows_; }
  // Requests whose prompts the step computes.
  std::span<const RequestId> prompts() const { return prompts_; }

 private:
  bool reserve(Sequence& sequence, int64_t n_tokens);
  int64_t n_outputs_free() const;
  void want_outputs(PackedRows& packed, bool chooses);

  PrefixCache* prefixes_;
  KvPages* memory_;
  BatchBuilder batch_;
  std::vector<PackedRows> rows_;
  std::vector<RequestId> prompts_;
  int64_t max_sequences_;
  int64_t max_outputs_;
  int64_t n_outputs_ = 0;  // rows of logits wanted up to now
};

}  // namespace ruv
