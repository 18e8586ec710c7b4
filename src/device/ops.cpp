// What the fused operations mean.
#include "device/ops.h"

#include <algorithm>

#include "base/check.h"

namespace ruv {

void Ops::matmul_each(std::span<const Product> products, View x) {
  for (const Product& p : products) {
    matmul(p.out, x.rows(p.first_row, p.out.n_rows), *p.weight, *p.bias);
  }
}

// Each row is computed for itself, so it does not matter how the rows are cut.
void Ops::add_low_rank(View out, View x, const Batch& batch, size_t product,
                       const LowRankScratch& scratch) {
  static const Vector kNoBias;
  const auto add_block = [&](const LowRank& added, int64_t first, int64_t n) {
    const View inner{scratch.inner.start, n, added.rank()};
    const View outer{scratch.outer.start, n, out.n_cols};
    matmul(inner, x.rows(first, n), added.a, kNoBias);
    scale(inner, added.scale);
    matmul(outer, inner, added.b, kNoBias);
    add(out.rows(first, n), outer);
  };
  for (auto s = batch.sequences.begin(); s != batch.sequences.end();) {
    const Adapter* const adapter = s->adapter;
    const int64_t first = s->row_begin;
    int64_t end = first;
    for (; s != batch.sequences.end() && s->adapter == adapter; ++s) end += s->n_rows;
    if (adapter == nullptr || adapter->products[product].empty()) continue;
    const LowRank& added = adapter->products[product];
    // Without scratch the loop below would not end.
    CHECK(scratch.inner.n_rows > 0 && added.rank() <= scratch.inner.n_cols &&
          out.n_cols <= scratch.outer.n_cols);
    const int64_t most = scratch.inner.n_rows;
    for (int64_t row = first; row < end; row += most) {
      add_block(added, row, std::min(most, end - row));
    }
  }
}

void Ops::add_norm(View x, View y, View out, const Vector& weight, const Vector& bias,
                   NormParams params) {
  add(x, y);
  norm(out, x, weight, bias, params);
}

}  // namespace ruv
