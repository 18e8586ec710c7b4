// BatchBuilder: packs the rows of one step. Sequences come one after another; each row is a token
// or an embedding, in the next place of its sequence.
#pragma once

#include "device/batch.h"

namespace ruv {

class BatchBuilder {
 public:
  // Steps of up to these sizes allocate nothing.
  void reserve(int64_t max_rows, int64_t max_sequences, int64_t max_outputs);

  // Begins a new step.
  void clear();
  // The following rows continue a sequence at `first_position`; its earlier positions are in
  // `pages`, which must outlive the step and cover the new rows too.
  void begin_sequence(int64_t first_position, std::span<const PageId> pages);
  // Running states of the sequence: the frame of the one before its first row, and what is wanted.
  void set_state(FrameId before, std::span<const StateOut> outs);
  // The rows of the sequence are computed with these adapters, which must outlive the step.
  void set_adapters(AdapterMix adapters);
  // The sequence's first `n` places are a source text (BatchSequence::n_source).
  void set_source(int64_t n);
  // The position of the sequence's next token; the tokens after it follow. Without this call it is
  // the token's place. Text after an image has a smaller one: one more than the image's largest.
  void set_position(int64_t position) { next_position_ = position; }
  // The type of the sequence's next rows. Without this call it is 0.
  void set_token_type(int32_t type) { token_type_ = type; }
  // The next row of the sequence is a token.
  void add(int32_t token);
  void add(std::span<const int32_t> tokens);
  // The next rows of the sequence are embeddings (n, n_embd), one at each of `positions`; their
  // memory must outlive the step. Requires: as many positions as rows.
  void add_embeddings(View rows, std::span<const Position> positions);
  // The sequence's last `n` rows see each other. Requires: it has so many, none in a block before.
  void see_each_other(int64_t n);
  // The logits of the sequence's last `n` rows are wanted. Returns the index of the first in
  // StepOutput::logits. Requires: the sequence has n rows, none of them asked for before.
  int64_t want_logits(int64_t n = 1);
  // The same for the hidden states of its last `n` rows.
  int64_t want_hidden(int64_t n = 1);

  int64_t n_rows() const { return batch_.n_rows(); }
  const Batch& batch() const { return batch_; }

 private:
  int64_t want(std::vector<int32_t>& rows, int64_t n);

  Batch batch_;
  int64_t next_position_ = 0;  // of the next token
  int32_t token_type_ = 0;
};

}  // namespace ruv
