#include "train/distill_loss.h"

#include <algorithm>
#include <vector>

#include "base/elementary.h"

namespace ruv {
namespace {

// ln softmax(logits / t).
template <class T>
std::vector<double> warm_log_softmax(const T* logits, int64_t n, double t) {
  std::vector<double> found(static_cast<size_t>(n));
  double most = double{logits[0]};
  for (int64_t c = 1; c < n; ++c) most = std::max(most, double{logits[c]});
  double sum = 0;
  for (int64_t c = 0; c < n; ++c) {
    found[static_cast<size_t>(c)] = (double{logits[c]} - most) / t;
    sum += exact_exp(found[static_cast<size_t>(c)]);
  }
  const double less = exact_log(sum);
  for (double& x : found) x -= less;
  return found;
}

}  // namespace

// The derivative by a logit of the student is (its share - the teacher's) / t.
template <class T>
double distill_loss(const Adjoined<T>& student, const Adjoined<T>& teacher,
                    const RowTargets& targets, double temperature, double scale, WorkerPool& pool) {
  std::vector<double> losses(targets.tokens.size(), 0);
  pool.run_items(student.n_rows, [&](int, int64_t i) {
    const auto at = static_cast<size_t>(i);
    if (targets.tokens[at] == kNoTarget) return;
    const double weight = targets.weights.empty() ? 1 : double{targets.weights[at]};
    const auto of_student = warm_log_softmax(student.row(i), student.n_cols, temperature);
    const auto of_teacher = warm_log_softmax(teacher.row(i), student.n_cols, temperature);
    double sum = 0;
    for (size_t c = 0; c < of_student.size(); ++c) {
      const double share = exact_exp(of_teacher[c]);
      if (share > 0) sum += share * (of_teacher[c] - of_student[c]);
    }
    losses[at] = weight * temperature * temperature * sum;
    if (student.adjoints == nullptr) return;
    const double factor = scale * weight * temperature;
    for (size_t c = 0; c < of_student.size(); ++c) {
      student.adjoint(i)[c] +=
          static_cast<T>(factor * (exact_exp(of_student[c]) - exact_exp(of_teacher[c])));
    }
  });
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return sum;
}

template double distill_loss(const Adjoined<float>&, const Adjoined<float>&, const RowTargets&,
                             double, double, WorkerPool&);
template double distill_loss(const Adjoined<double>&, const Adjoined<double>&, const RowTargets&,
                             double, double, WorkerPool&);

}  // namespace ruv
