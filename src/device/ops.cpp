// What the fused operations mean.
#include "device/ops.h"

#include <algorithm>

#include "base/check.h"
#include "device/adapter_runs.h"

namespace ruv {

void Ops::matmul_each(std::span<const Product> products, View x) {
  for (const Product& p : products) {
    matmul(p.out, x.rows(p.first_row, p.out.n_rows), *p.weight, *p.bias);
  }
}

// Each row is computed for itself, so it does not matter how the rows are cut.
void Ops::add_one_low_rank(View out, View x, const LowRank& added, float scale,
                           const LowRankScratch& scratch) {
  static const Vector kNoBias;
  const int64_t most = scratch.n_rows_of(out.n_cols);
  // Without scratch the loop below would not end.
  CHECK(most > 0 && added.rank() <= scratch.inner.n_cols);
  for (int64_t first = 0; first < x.n_rows; first += most) {
    const int64_t n = std::min(most, x.n_rows - first);
    const View inner{scratch.inner.start, n, added.rank()};
    const View outer{scratch.outer.start, n, out.n_cols};
    matmul(inner, x.rows(first, n), added.a, kNoBias);
    this->scale(inner, added.scale * scale);
    matmul(outer, inner, added.b, kNoBias);
    const View sum = out.rows(first, n);
    add(sum, outer);
    if (!added.factors.empty()) scale_columns(sum, added.factors, added.shifts);
  }
}

void Ops::add_low_rank(View out, View x, const Batch& batch, size_t product,
                       const LowRankScratch& scratch) {
  for_adapter_runs(batch, [&](Range rows, AdapterMix mix) {
    const int64_t n = rows.end - rows.begin;
    for (const AdapterShare& share : mix) {
      const LowRank& added = share.adapter->products[product];
      if (added.empty()) continue;
      add_one_low_rank(out.rows(rows.begin, n), x.rows(rows.begin, n), added, share.scale, scratch);
    }
  });
}

void Ops::add_norm(View x, View y, View out, const Vector& weight, const Vector& bias,
                   NormParams params) {
  add(x, y);
  norm(out, x, weight, bias, params);
}

}  // namespace ruv
