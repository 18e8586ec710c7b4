// A model that answers a source text: the rows of either side, and what the decoder's layers read
// of the source. A slot of the cache has, in each layer of the decoder, keys and values for
// attention to the source where its token is of the source, and else those of attention to the
// answer.
#include <algorithm>
#include <span>

#include "model/layer_step.h"

namespace ruv {
namespace {

// Appends rows [rows.begin, rows.end) of a sequence to a batch.
void append_rows(const Batch& from, const BatchSequence& sequence, Range rows, Batch& to) {
  if (rows.begin == rows.end) return;
  BatchSequence part = sequence;
  part.row_begin = to.n_rows();
  part.n_rows = rows.end - rows.begin;
  part.first_position = sequence.first_position + rows.begin;
  const int64_t first = sequence.row_begin + rows.begin;
  const int64_t end = sequence.row_begin + rows.end;
  const int64_t shift = part.row_begin - first;
  const auto append = [&](const auto& all, auto& some) {
    some.insert(some.end(), all.begin() + first, all.begin() + end);
  };
  append(from.tokens, to.tokens);
  append(from.positions, to.positions);
  // An answer's positions begin at 0, as its source's do.
  if (rows.begin + sequence.first_position >= sequence.n_source) {
    for (Position& position : std::span(to.positions).last(static_cast<size_t>(part.n_rows))) {
      for (int32_t& axis : position) axis -= static_cast<int32_t>(sequence.n_source);
    }
  }
  append(from.token_types, to.token_types);
  for (const Range& block : from.blocks) {
    if (block.begin < first || block.end > end) continue;
    to.blocks.push_back({block.begin + shift, block.end + shift});
  }
  const auto append_outputs = [&](const std::vector<int32_t>& wanted, std::vector<int32_t>& some) {
    for (const int32_t row : wanted) {
      if (row >= first && row < end) some.push_back(static_cast<int32_t>(row + shift));
    }
  };
  append_outputs(from.logit_rows, to.logit_rows);
  append_outputs(from.hidden_rows, to.hidden_rows);
  to.has_adapters |= !part.adapters.empty();
  to.sequences.push_back(part);
}

}  // namespace

BatchSides sides_of(const Batch& batch) {
  BatchSides sides;
  for (const BatchSequence& sequence : batch.sequences) {
    const int64_t n_source =
        std::clamp<int64_t>(sequence.n_source - sequence.first_position, 0, sequence.n_rows);
    append_rows(batch, sequence, {0, n_source}, sides.source);
    append_rows(batch, sequence, {n_source, sequence.n_rows}, sides.answer);
  }
  return sides;
}

void store_source(Ops& ops, const Model& m, const Batch& source, const Activations::Views& a) {
  for (int64_t i = m.h.n_encoder_layers; i < m.h.n_layers; ++i) {
    const LayerStep step = {ops, m, i, a, {ops, source, a.low_rank, i}};
    const View k = cut(a.k, step.plan().extent(LayerSize::k));
    const View v = cut(a.v, step.plan().extent(LayerSize::v));
    step.multiply(Role::cross_k, k, a.h);
    step.multiply(Role::cross_v, v, a.h);
    ops.store_kv(i, k, v, Vector());
  }
}

void attend_to_source(const LayerStep& step) {
  const LayerPlan& p = step.plan();
  const Activations::Views& a = step.a;
  const View q = cut(a.q, p.extent(LayerSize::q));
  const View out = cut(a.attn, p.extent(LayerSize::attn));
  step.multiply(Role::cross_q, q, a.h);
  AttendParams params = attend_params(p, step.weights(), step.layer);
  params.window = 0;
  params.of_source = true;
  step.ops.attend(out, q, params);
  step.multiply(Role::cross_o, a.h, out);
  if (!p.has(NormRole::cross_post)) return;
  const NormWeights& norm = step.weights()[NormRole::cross_post];
  step.ops.norm(a.h, a.h, norm.weight, norm.bias, {p.norm, p.norm_eps});
}

}  // namespace ruv
