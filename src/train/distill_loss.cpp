#include "train/distill_loss.h"

#include <vector>

#include "train/softmax.h"

namespace ruv {

// The derivative by a logit of the student is (its share - the teacher's) / t.
template <class T>
double distill_loss(const Adjoined<T>& student, const Adjoined<T>& teacher,
                    const RowTargets& targets, double temperature, double scale, WorkerPool& pool) {
  std::vector<double> losses(targets.tokens.size(), 0);
  const auto n_threads = static_cast<size_t>(pool.n_threads());
  std::vector<RowSoftmax<T>> student_rows(n_threads), teacher_rows(n_threads);
  pool.run_items(student.n_rows, [&](int thread, int64_t i) {
    const auto at = static_cast<size_t>(i);
    if (targets.tokens[at] == kNoTarget) return;
    const double weight = targets.weights.empty() ? 1 : double{targets.weights[at]};
    RowSoftmax<T>& found = student_rows[static_cast<size_t>(thread)];
    RowSoftmax<T>& wanted = teacher_rows[static_cast<size_t>(thread)];
    found.take(student.row(i), student.n_cols, temperature);
    wanted.take(teacher.row(i), student.n_cols, temperature);
    const double sum = sum_in_lanes(student.n_cols, [&](int64_t c) {
      const auto part = double{wanted.parts()[static_cast<size_t>(c)]};
      if (part == 0) return 0.0;  // the logit may be -infinity
      return part * (wanted.log_share(teacher.row(i)[c]) - found.log_share(student.row(i)[c]));
    });
    losses[at] = weight * temperature * temperature * sum / wanted.sum();
    if (student.adjoints == nullptr) return;
    const double factor = scale * weight * temperature;
    const auto of_found = static_cast<T>(factor / found.sum());
    const auto of_wanted = static_cast<T>(factor / wanted.sum());
    T* const adjoints = student.adjoint(i);
    for (int64_t c = 0; c < student.n_cols; ++c) {
      const auto column = static_cast<size_t>(c);
      adjoints[c] += found.parts()[column] * of_found - wanted.parts()[column] * of_wanted;
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
