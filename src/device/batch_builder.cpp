// Sequences and rows are appended in step, so row indices ascend by construction.
#include "device/batch_builder.h"

#include "base/check.h"

namespace ruv {

void BatchBuilder::reserve(int64_t max_rows, int64_t max_sequences, int64_t max_outputs) {
  batch_.tokens.reserve(static_cast<size_t>(max_rows));
  batch_.positions.reserve(static_cast<size_t>(max_rows));
  batch_.token_types.reserve(static_cast<size_t>(max_rows));
  batch_.embedded.reserve(static_cast<size_t>(max_rows));
  batch_.blocks.reserve(static_cast<size_t>(max_rows));
  batch_.sequences.reserve(static_cast<size_t>(max_sequences));
  batch_.logit_rows.reserve(static_cast<size_t>(max_outputs));
  batch_.hidden_rows.reserve(static_cast<size_t>(max_rows));
}

void BatchBuilder::clear() {
  batch_.tokens.clear();
  batch_.positions.clear();
  batch_.token_types.clear();
  batch_.embedded.clear();
  batch_.blocks.clear();
  batch_.sequences.clear();
  batch_.logit_rows.clear();
  batch_.hidden_rows.clear();
  batch_.has_adapters = false;
}

// Rows that follow are counted into the last sequence.
void BatchBuilder::begin_sequence(int64_t first_position, std::span<const PageId> pages) {
  batch_.sequences.push_back({batch_.n_rows(), 0, first_position, pages});
  next_position_ = first_position;
  token_type_ = 0;
}

void BatchBuilder::set_state(FrameId before, std::span<const StateOut> outs) {
  batch_.sequences.back().state = before;
  batch_.sequences.back().state_outs = outs;
}

void BatchBuilder::set_adapters(AdapterMix adapters) {
  batch_.sequences.back().adapters = adapters;
  batch_.has_adapters |= !adapters.empty();
}

void BatchBuilder::set_source(int64_t n) { batch_.sequences.back().n_source = n; }

void BatchBuilder::add(int32_t token) {
  ++batch_.sequences.back().n_rows;
  const auto position = static_cast<int32_t>(next_position_++);
  batch_.tokens.push_back(token);
  batch_.positions.push_back({position, position, position});
  batch_.token_types.push_back(token_type_);
}

void BatchBuilder::add(std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) add(token);
}

void BatchBuilder::add_embeddings(View rows, std::span<const Position> positions) {
  DCHECK(rows.n_rows == std::ssize(positions));
  batch_.embedded.push_back({batch_.n_rows(), rows});
  batch_.sequences.back().n_rows += rows.n_rows;
  next_position_ += rows.n_rows;
  batch_.tokens.insert(batch_.tokens.end(), positions.size(), 0);
  batch_.positions.insert(batch_.positions.end(), positions.begin(), positions.end());
  batch_.token_types.resize(batch_.tokens.size(), token_type_);
}

void BatchBuilder::see_each_other(int64_t n) {
  DCHECK(n <= batch_.sequences.back().n_rows);
  batch_.blocks.push_back({n_rows() - n, n_rows()});
}

int64_t BatchBuilder::want(std::vector<int32_t>& rows, int64_t n) {
  DCHECK(n <= batch_.sequences.back().n_rows);
  const int64_t first = std::ssize(rows);
  for (int64_t row = n_rows() - n; row < n_rows(); ++row) rows.push_back(static_cast<int32_t>(row));
  return first;
}

int64_t BatchBuilder::want_logits(int64_t n) { return want(batch_.logit_rows, n); }

int64_t BatchBuilder::want_hidden(int64_t n) { return want(batch_.hidden_rows, n); }

}  // namespace ruv
