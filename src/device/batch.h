// Batch: what one step computes: any mix of prompt chunks and single decode rows of several
// sequences. BatchBuilder (device/batch_builder.h) is the only writer, so that a new kind of input
// or output is one change for everything that computes: engine, draft model, logits, bench.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/range.h"
#include "device/adapter.h"
#include "device/view.h"

namespace ruv {

using PageId = int32_t;

// Where a row is, for positional encodings. Text counts along all three axes alike; an image's rows
// have a time, a line and a column of their own (M-RoPE). What the row may attend to follows from
// its place in the sequence (BatchSequence::first_position), not from this.
using Position = std::array<int32_t, 3>;

// Memory of a page in one group of layers (device/kv_region.h).
using FrameId = int32_t;
// The running states after row `row` of a sequence's rows are wanted in this frame.
struct StateOut {
  int64_t row = 0;
  FrameId frame = -1;
};

// Rows [row_begin, row_begin + n_rows) of the batch continue one sequence at first_position.
// `pages` hold its keys and values, page i the positions from i · kPageTokens. Layers that keep a
// running state read the one before the first row in frame `state`, leave it as it is, and write
// `state_outs`, which ascend by row. `adapters` must outlive the step. The first n_source positions
// are those of a source text, which an encoder computes; rows after them do not see what layers
// keep there but by AttendParams::of_source.
struct BatchSequence {
  int64_t row_begin = 0;
  int64_t n_rows = 0;
  int64_t first_position = 0;
  std::span<const PageId> pages;
  FrameId state = -1;  // -1: no layer keeps one
  std::span<const StateOut> state_outs = {};
  AdapterMix adapters = {};
  int64_t n_source = 0;
};

// Rows [row_begin, row_begin + rows.n_rows) enter the model as these embeddings (n_rows, n_embd),
// in place of what the embedding table has for a token; the family's scale does not apply to them.
struct EmbeddedRows {
  int64_t row_begin = 0;
  View rows;
};

// What a row attends to of its own sequence: the keys before it and its own. Rows of one block see
// each other as well: an image's rows, or the whole text of an encoder, which a window may limit in
// both directions (AttendParams::both_ways).
struct Batch {
  std::vector<int32_t> tokens;       // one per row; 0 where the row brings an embedding
  std::vector<Position> positions;   // one per row
  std::vector<int32_t> token_types;  // one per row; 0: the first text, 1: the second of a pair
  std::vector<EmbeddedRows> embedded;
  std::vector<Range> blocks;  // of rows, ascending, each within one sequence
  std::vector<BatchSequence> sequences;
  std::vector<int32_t> logit_rows;   // rows whose logits are wanted, ascending
  std::vector<int32_t> hidden_rows;  // rows whose hidden state is wanted, ascending
  bool has_adapters = false;         // some sequence has one

  int64_t n_rows() const { return static_cast<int64_t>(tokens.size()); }
  int64_t n_logits() const { return static_cast<int64_t>(logit_rows.size()); }
  int64_t n_hidden() const { return static_cast<int64_t>(hidden_rows.size()); }
};

// What a step gives on the device, in the order of the batch's rows; valid until the next step.
struct StepOutput {
  View logits;  // (logit_rows, n_vocab)
  View hidden;  // (hidden_rows, n_embd), after the last norm
};

}  // namespace ruv
