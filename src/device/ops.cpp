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

namespace {

// Adds one product to neighbours. Each row is computed for itself, so it does not matter how the
// rows are cut.
class LowRankSum {
 public:
  LowRankSum(Ops& ops, View out, View x, const LowRankScratch& scratch)
      : ops_(ops), out_(out), x_(x), scratch_(scratch) {}

  void add(const LowRank& added, float scale, Range rows) {
    const int64_t most = scratch_.n_rows_of(out_.n_cols);
    // Without scratch the loop below would not end.
    CHECK(most > 0 && added.rank() <= scratch_.inner.n_cols);
    for (int64_t row = rows.begin; row < rows.end; row += most) {
      add_block(added, added.scale * scale, row, std::min(most, rows.end - row));
    }
  }

 private:
  void add_block(const LowRank& added, float scale, int64_t first, int64_t n) {
    static const Vector kNoBias;
    const View inner{scratch_.inner.start, n, added.rank()};
    const View outer{scratch_.outer.start, n, out_.n_cols};
    ops_.matmul(inner, x_.rows(first, n), added.a, kNoBias);
    ops_.scale(inner, scale);
    ops_.matmul(outer, inner, added.b, kNoBias);
    const View sum = out_.rows(first, n);
    ops_.add(sum, outer);
    if (!added.factors.empty()) ops_.scale_columns(sum, added.factors, added.shifts);
  }

  Ops& ops_;
  View out_, x_;
  const LowRankScratch& scratch_;
};

}  // namespace

void Ops::add_low_rank(View out, View x, const Batch& batch, size_t product,
                       const LowRankScratch& scratch) {
  LowRankSum sum(*this, out, x, scratch);
  for_adapter_runs(batch, [&](Range rows, AdapterMix mix) {
    for (const AdapterShare& share : mix) {
      const LowRank& added = share.adapter->products[product];
      if (!added.empty()) sum.add(added, share.scale, rows);
    }
  });
}

void Ops::add_norm(View x, View y, View out, const Vector& weight, const Vector& bias,
                   NormParams params) {
  add(x, y);
  norm(out, x, weight, bias, params);
}

}  // namespace ruv
