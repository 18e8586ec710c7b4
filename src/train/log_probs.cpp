#include "train/log_probs.h"

#include "train/softmax.h"

namespace ruv {

// A gradient is factor · ([token] - share).
template <class T>
std::vector<double> target_log_probs(const Adjoined<T>& logits, std::span<const int32_t> tokens,
                                     WorkerPool& pool) {
  std::vector<double> found(tokens.size(), 0);
  std::vector<RowSoftmax<T>> rows(static_cast<size_t>(pool.n_threads()));
  pool.run_items(logits.n_rows, [&](int thread, int64_t i) {
    const int32_t token = tokens[static_cast<size_t>(i)];
    if (token == kNoTarget) return;
    RowSoftmax<T>& row = rows[static_cast<size_t>(thread)];
    row.take(logits.row(i), logits.n_cols);
    found[static_cast<size_t>(i)] = row.log_share(logits.row(i)[token]);
  });
  return found;
}

template <class T>
void add_log_prob_gradient(const Adjoined<T>& logits, std::span<const int32_t> tokens,
                           std::span<const double> factors, WorkerPool& pool) {
  std::vector<RowSoftmax<T>> rows(static_cast<size_t>(pool.n_threads()));
  pool.run_items(logits.n_rows, [&](int thread, int64_t i) {
    const auto at = static_cast<size_t>(i);
    if (tokens[at] == kNoTarget || factors[at] == 0) return;
    RowSoftmax<T>& row = rows[static_cast<size_t>(thread)];
    row.take(logits.row(i), logits.n_cols);
    const std::span<const T> parts = row.parts();
    const auto factor = static_cast<T>(factors[at] / row.sum());
    T* const adjoints = logits.adjoint(i);
    for (int64_t c = 0; c < logits.n_cols; ++c) {
      adjoints[c] -= parts[static_cast<size_t>(c)] * factor;
    }
    adjoints[tokens[at]] += static_cast<T>(factors[at]);
  });
}

template std::vector<double> target_log_probs(const Adjoined<float>&, std::span<const int32_t>,
                                              WorkerPool&);
template std::vector<double> target_log_probs(const Adjoined<double>&, std::span<const int32_t>,
                                              WorkerPool&);
template void add_log_prob_gradient(const Adjoined<float>&, std::span<const int32_t>,
                                    std::span<const double>, WorkerPool&);
template void add_log_prob_gradient(const Adjoined<double>&, std::span<const int32_t>,
                                    std::span<const double>, WorkerPool&);

}  // namespace ruv
