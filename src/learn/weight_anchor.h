// Elastic weight consolidation, online (EWC: Kirkpatrick et al., 2017; online Fisher: Schwarz et
// al., 2018): numbers that earlier tasks need are pulled back to where those tasks left them.
//
// A task ends with an anchor: its numbers w* and, for each, how much the task depends on it, the
// diagonal of the Fisher information F (the mean square of the gradient of a text's
// log-probability). Later steps have the penalty
//   (lambda / 2) Σ over tasks and numbers of F̂ (w - w*)²
// F̂ is F divided by its mean over the group (one matrix A or B): groups of an adapter differ in
// their F by orders of magnitude, and one divisor for all would leave the small ones free. So
// lambda has the same meaning for all groups, models and tasks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ruv {

struct TaskAnchor {
  std::string task;
  std::vector<float> numbers;
  std::vector<float> fisher;  // F̂
};

// F <- decay F + (1 - decay) g². Requires: equal sizes.
void add_to_fisher(std::span<float> fisher, std::span<const float> gradient, double decay);

// F̂. `groups`: the sizes of the groups, in order. A group of zeros stays so. Requires: the sizes
// add up to those of F.
std::vector<float> normalised_fisher(std::span<const float> fisher,
                                     std::span<const int64_t> groups);

// Keeps the newest `n` of the anchors apart; older ones become one whose penalty is the sum of
// theirs but for a constant: F = F1 + F2, w* = (F1 w1 + F2 w2) / F. Requires: n > 0.
void merge_oldest(std::vector<TaskAnchor>& anchors, size_t n);

// One step of size `rate` on the penalty (lambda / 2) Σ F̂ (w - w*)² alone, solved exactly and not
// along its gradient:
//   w <- (w + Σ c w*) / (1 + Σ c),  c = rate · lambda · F̂
// which no lambda can make overshoot.
void pull_to_anchors(std::span<float> numbers, std::span<const TaskAnchor> anchors, double rate,
                     double lambda);

}  // namespace ruv
