#include "train/token_loss.h"

#include <algorithm>
#include <vector>

#include "train/softmax.h"

namespace ruv {
namespace {

// The loss of a row, whose derivative is softmax - [target]. Logits less the greatest one have
// exponentials that neither overflow nor all vanish.
template <class T>
double row_loss(const T* logits, T* adjoints, int64_t n, int64_t target, double scale,
                RowSoftmax<T>& row) {
  row.take(logits, n);
  if (adjoints != nullptr) {
    const auto factor = static_cast<T>(scale / row.sum());
    const std::span<const T> parts = row.parts();
    for (int64_t c = 0; c < n; ++c) adjoints[c] += parts[static_cast<size_t>(c)] * factor;
    adjoints[target] -= static_cast<T>(scale);
  }
  return -row.log_share(logits[target]);
}

}  // namespace

// Rows have losses of their own, which are added in their order.
template <class T>
double cross_entropy(const Adjoined<T>& logits, const RowTargets& targets, double scale,
                     WorkerPool& pool) {
  std::vector<double> losses(targets.tokens.size(), 0);
  std::vector<RowSoftmax<T>> rows(static_cast<size_t>(pool.n_threads()));
  pool.run_items(logits.n_rows, [&](int thread, int64_t i) {
    const auto at = static_cast<size_t>(i);
    const int32_t token = targets.tokens[at];
    if (token == kNoTarget) return;
    const double weight = targets.weights.empty() ? 1 : double{targets.weights[at]};
    T* const adjoints = logits.adjoints == nullptr ? nullptr : logits.adjoint(i);
    losses[at] = weight * row_loss(logits.row(i), adjoints, logits.n_cols, token, scale * weight,
                                   rows[static_cast<size_t>(thread)]);
  });
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return sum;
}

template double cross_entropy(const Adjoined<float>&, const RowTargets&, double, WorkerPool&);
template double cross_entropy(const Adjoined<double>&, const RowTargets&, double, WorkerPool&);

}  // namespace ruv
