#include "format/quant_allocation.h"

#include <algorithm>
#include <numeric>

namespace ruv {
namespace {

// From one choice of an item to the next one of its lower hull.
struct HullStep {
  double saved_per_byte;
  size_t item, to;
};

// Indices of the choices on the lower hull, ascending in bytes and falling in loss.
std::vector<size_t> lower_hull(const std::vector<FormatChoice>& choices) {
  std::vector<size_t> order(choices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    if (choices[a].n_bytes != choices[b].n_bytes) return choices[a].n_bytes < choices[b].n_bytes;
    return choices[a].loss < choices[b].loss;
  });
  const auto slope = [&](size_t a, size_t b) {
    return (choices[a].loss - choices[b].loss) /
           static_cast<double>(choices[b].n_bytes - choices[a].n_bytes);
  };
  std::vector<size_t> hull;
  for (const size_t next : order) {
    if (!hull.empty() && (choices[next].n_bytes == choices[hull.back()].n_bytes ||
                          choices[next].loss >= choices[hull.back()].loss)) {
      continue;
    }
    while (hull.size() > 1 &&
           slope(hull[hull.size() - 2], hull.back()) <= slope(hull.back(), next)) {
      hull.pop_back();
    }
    hull.push_back(next);
  }
  return hull;
}

// The single change that saves most and fits; false: there is none.
bool take_best_change(std::span<const std::vector<FormatChoice>> items, uint64_t max_bytes,
                      std::vector<size_t>& chosen, uint64_t& n_bytes) {
  double best = 0;
  size_t best_item = 0;
  size_t best_choice = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const FormatChoice& now = items[i][chosen[i]];
    for (size_t c = 0; c < items[i].size(); ++c) {
      const double saved = now.loss - items[i][c].loss;
      if (saved > best && n_bytes - now.n_bytes + items[i][c].n_bytes <= max_bytes) {
        best = saved;
        best_item = i;
        best_choice = c;
      }
    }
  }
  if (best <= 0) return false;
  n_bytes -= items[best_item][chosen[best_item]].n_bytes;
  n_bytes += items[best_item][best_choice].n_bytes;
  chosen[best_item] = best_choice;
  return true;
}

}  // namespace

std::optional<std::vector<size_t>> allocate_formats(
    std::span<const std::vector<FormatChoice>> items, uint64_t max_bytes) {
  std::vector<size_t> chosen;
  std::vector<HullStep> steps;
  uint64_t n_bytes = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::vector<size_t> hull = lower_hull(items[i]);
    chosen.push_back(hull.front());
    n_bytes += items[i][hull.front()].n_bytes;
    for (size_t h = 1; h < hull.size(); ++h) {
      const FormatChoice& from = items[i][hull[h - 1]];
      const FormatChoice& to = items[i][hull[h]];
      steps.push_back(
          {(from.loss - to.loss) / static_cast<double>(to.n_bytes - from.n_bytes), i, hull[h]});
    }
  }
  if (n_bytes > max_bytes) return std::nullopt;
  // Stable: the steps of one item stay in order, whose slopes fall.
  std::ranges::stable_sort(steps, std::ranges::greater(), &HullStep::saved_per_byte);
  for (const HullStep& step : steps) {
    const uint64_t next =
        n_bytes - items[step.item][chosen[step.item]].n_bytes + items[step.item][step.to].n_bytes;
    if (next > max_bytes) continue;
    n_bytes = next;
    chosen[step.item] = step.to;
  }
  while (take_best_change(items, max_bytes, chosen, n_bytes)) {
  }
  return chosen;
}

}  // namespace ruv
