#include "train/log_probs.h"

#include <algorithm>

#include "base/elementary.h"

namespace ruv {
namespace {

// ln Σ exp of a row is most + ln(sum).
struct RowMass {
  double most = 0, sum = 0;
};

template <class T>
RowMass mass_of(const T* logits, int64_t n) {
  RowMass mass{double{logits[0]}};
  for (int64_t c = 1; c < n; ++c) mass.most = std::max(mass.most, double{logits[c]});
  for (int64_t c = 0; c < n; ++c) mass.sum += exact_exp(double{logits[c]} - mass.most);
  return mass;
}

}  // namespace

template <class T>
std::vector<double> target_log_probs(const Adjoined<T>& logits, std::span<const int32_t> tokens,
                                     WorkerPool& pool) {
  std::vector<double> found(tokens.size(), 0);
  pool.run_items(logits.n_rows, [&](int, int64_t i) {
    const int32_t token = tokens[static_cast<size_t>(i)];
    if (token == kNoTarget) return;
    const RowMass mass = mass_of(logits.row(i), logits.n_cols);
    found[static_cast<size_t>(i)] = double{logits.row(i)[token]} - mass.most - exact_log(mass.sum);
  });
  return found;
}

template <class T>
void add_log_prob_gradient(const Adjoined<T>& logits, std::span<const int32_t> tokens,
                           std::span<const double> factors, WorkerPool& pool) {
  pool.run_items(logits.n_rows, [&](int, int64_t i) {
    const auto at = static_cast<size_t>(i);
    if (tokens[at] == kNoTarget || factors[at] == 0) return;
    const T* const row = logits.row(i);
    T* const adjoints = logits.adjoint(i);
    const RowMass mass = mass_of(row, logits.n_cols);
    for (int64_t c = 0; c < logits.n_cols; ++c) {
      const double share = exact_exp(double{row[c]} - mass.most) / mass.sum;
      adjoints[c] += static_cast<T>(factors[at] * ((c == tokens[at] ? 1 : 0) - share));
    }
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
