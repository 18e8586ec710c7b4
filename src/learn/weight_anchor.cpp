#include "learn/weight_anchor.h"

namespace ruv {

// In double, as squares of small gradients differ by many orders of magnitude.
void add_to_fisher(std::span<float> fisher, std::span<const float> gradient, double decay) {
  for (size_t i = 0; i < fisher.size(); ++i) {
    const double g = gradient[i];
    fisher[i] = static_cast<float>(decay * double{fisher[i]} + (1 - decay) * g * g);
  }
}

// A group whose gradients were all 0 has no mean to divide by, and holds nothing.
std::vector<float> normalised_fisher(std::span<const float> fisher,
                                     std::span<const int64_t> groups) {
  std::vector<float> result(fisher.begin(), fisher.end());
  size_t at = 0;
  for (const int64_t n : groups) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += double{fisher[at + static_cast<size_t>(i)]};
    const double mean = sum / static_cast<double>(n);
    for (int64_t i = 0; i < n && mean > 0; ++i) {
      float& f = result[at + static_cast<size_t>(i)];
      f = static_cast<float>(double{f} / mean);
    }
    at += static_cast<size_t>(n);
  }
  return result;
}

// Completing the square of the sum; where neither task depends on a number, any anchor will do.
void merge_oldest(std::vector<TaskAnchor>& anchors, size_t n) {
  while (anchors.size() > n) {
    const TaskAnchor& first = anchors[0];
    TaskAnchor& second = anchors[1];
    for (size_t i = 0; i < second.numbers.size(); ++i) {
      const double f1 = first.fisher[i];
      const double f2 = second.fisher[i];
      if (f1 + f2 <= 0) continue;
      const double sum = f1 * double{first.numbers[i]} + f2 * double{second.numbers[i]};
      second.numbers[i] = static_cast<float>(sum / (f1 + f2));
      second.fisher[i] = static_cast<float>(f1 + f2);
    }
    second.task = first.task + "+" + second.task;
    anchors.erase(anchors.begin());
  }
}

// The minimum of (w' - w)² / 2 + rate · penalty(w'), which is separate for each number.
void pull_to_anchors(std::span<float> numbers, std::span<const TaskAnchor> anchors, double rate,
                     double lambda) {
  for (size_t i = 0; i < numbers.size() && !anchors.empty(); ++i) {
    double sum = numbers[i];
    double weight = 1;
    for (const TaskAnchor& anchor : anchors) {
      const double c = rate * lambda * double{anchor.fisher[i]};
      sum += c * double{anchor.numbers[i]};
      weight += c;
    }
    numbers[i] = static_cast<float>(sum / weight);
  }
}

}  // namespace ruv
