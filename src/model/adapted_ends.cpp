#include "model/adapted_ends.h"

#include <algorithm>

#include "base/check.h"
#include "device/adapter_runs.h"
#include "model/adapter.h"

namespace ruv {
namespace {

// Row r of the result has the adapters of the r-th of the batch's logit_rows. Nothing else of it is
// set.
Batch batch_of_logits(const Batch& batch) {
  Batch result;
  auto row = batch.logit_rows.begin();
  for (const BatchSequence& sequence : batch.sequences) {
    const auto end =
        std::lower_bound(row, batch.logit_rows.end(), sequence.row_begin + sequence.n_rows);
    if (end == row) continue;
    BatchSequence& of_logits = result.sequences.emplace_back();
    of_logits.row_begin = row - batch.logit_rows.begin();
    of_logits.n_rows = end - row;
    of_logits.adapters = sequence.adapters;
    row = end;
  }
  return result;
}

// x += scale · B · A[token] for some rows.
void add_to_embeddings(const AdaptedEnds& ends, View x, Range rows, const LowRank& added,
                       float scale) {
  static const Vector kNoBias;
  const LowRankScratch& scratch = ends.scratch;
  const int64_t most = scratch.n_rows_of(x.n_cols);
  CHECK(most > 0 && added.rank() <= scratch.inner.n_cols);
  const std::span<const int32_t> tokens(ends.batch.tokens);
  for (int64_t row = rows.begin; row < rows.end; row += most) {
    const int64_t n = std::min(most, rows.end - row);
    const View inner{scratch.inner.start, n, added.rank()};
    const View outer{scratch.outer.start, n, x.n_cols};
    ends.ops.embed(inner, added.a, tokens.subspan(static_cast<size_t>(row), static_cast<size_t>(n)),
                   scale);
    ends.ops.matmul(outer, inner, added.b, kNoBias);
    ends.ops.add(x.rows(row, n), outer);
  }
  if (added.factors.empty()) return;
  ends.ops.scale_columns(x.rows(rows.begin, rows.end - rows.begin), added.factors, added.shifts);
}

}  // namespace

void adapt_embeddings(const AdaptedEnds& ends, View x) {
  const HParams& h = ends.model.h;
  for_adapter_runs(ends.batch, [&](Range rows, AdapterMix mix) {
    const auto first = static_cast<size_t>(rows.begin);
    const int64_t n = rows.end - rows.begin;
    for (const AdapterShare& share : mix) {
      if (const Weight& table = share.adapter->token_embd; !table.empty()) {
        const std::span<const int32_t> tokens(ends.batch.tokens);
        ends.ops.embed(x.rows(rows.begin, n), table, tokens.subspan(first, static_cast<size_t>(n)),
                       h.embed_scale);
      }
      const LowRank& added = share.adapter->products[product_of(h, ModelEnd::token_embd)];
      if (added.empty()) continue;
      add_to_embeddings(ends, x, rows, added, added.scale * share.scale * h.embed_scale);
    }
  });
}

void adapt_logits(const AdaptedEnds& ends, View logits, View x) {
  const Batch batch = batch_of_logits(ends.batch);
  for_adapter_runs(batch, [&](Range rows, AdapterMix mix) {
    const int64_t n = rows.end - rows.begin;
    for (const AdapterShare& share : mix) {
      const Weight& output = share.adapter->output;
      if (output.empty()) continue;
      ends.ops.matmul(logits.rows(rows.begin, n), x.rows(rows.begin, n), output,
                      ends.model.output_bias);
    }
  });
  ends.ops.add_low_rank(logits, x, batch, product_of(ends.model.h, ModelEnd::output), ends.scratch);
}

}  // namespace ruv
