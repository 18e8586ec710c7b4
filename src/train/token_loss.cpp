#include "train/token_loss.h"

#include <algorithm>
#include <vector>

#include "base/elementary.h"

namespace ruv {
namespace {

// The loss of a row, whose derivative is softmax - [target]. Logits less the greatest one have
// exponentials that neither overflow nor all vanish.
template <class T>
double row_loss(const T* logits, T* adjoints, int64_t n, int64_t target, double scale) {
  double most = double{logits[0]};
  for (int64_t c = 1; c < n; ++c) most = std::max(most, double{logits[c]});
  double sum = 0;
  for (int64_t c = 0; c < n; ++c) sum += exact_exp(double{logits[c]} - most);
  if (adjoints != nullptr) {
    for (int64_t c = 0; c < n; ++c) {
      const double share = exact_exp(double{logits[c]} - most) / sum;
      adjoints[c] += static_cast<T>(scale * (share - (c == target ? 1 : 0)));
    }
  }
  return exact_log(sum) + most - double{logits[target]};
}

}  // namespace

// Rows have losses of their own, which are added in their order.
template <class T>
double cross_entropy(const Adjoined<T>& logits, const RowTargets& targets, double scale,
                     WorkerPool& pool) {
  std::vector<double> losses(targets.tokens.size(), 0);
  pool.run_items(logits.n_rows, [&](int, int64_t i) {
    const auto at = static_cast<size_t>(i);
    const int32_t token = targets.tokens[at];
    if (token == kNoTarget) return;
    const double weight = targets.weights.empty() ? 1 : double{targets.weights[at]};
    T* const adjoints = logits.adjoints == nullptr ? nullptr : logits.adjoint(i);
    losses[at] = weight * row_loss(logits.row(i), adjoints, logits.n_cols, token, scale * weight);
  });
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return sum;
}

template double cross_entropy(const Adjoined<float>&, const RowTargets&, double, WorkerPool&);
template double cross_entropy(const Adjoined<double>&, const RowTargets&, double, WorkerPool&);

}  // namespace ruv
