// The names are those that PEFT and mergekit use where they have the strategy.
#include "adapt/strategy.h"

#include <algorithm>
#include <cmath>

namespace ruv {
namespace {

using enum MergeStrategy;

constexpr MergeStrategyRow kRows[] = {
    {.strategy = linear,
     .name = "linear",
     .other_names = "weighted_sum weightedsum task_arithmetic sequential",
     .help = "the sum of the changes, each times its weight"},
    {.strategy = average,
     .name = "average",
     .other_names = "mean",
     .help = "their mean; with weights the weighted mean"},
    {.strategy = cat,
     .name = "cat",
     .other_names = "",
     .help = "the same sum with all rows of A and columns of B: exact, the ranks add up"},
    {.strategy = interpolate,
     .name = "interpolate",
     .other_names = "lerp",
     .help = "1 - t of the first and t of the second",
     .takes_weights = false,
     .takes_t = true},
    {.strategy = slerp,
     .name = "slerp",
     .other_names = "",
     .help = "from the first to the second along the arc between them, module by module",
     .takes_weights = false,
     .takes_t = true},
    {.strategy = most_recent,
     .name = "most_recent",
     .other_names = "mostrecent",
     .help = "in each module the change of the last adapter that has it"},
    {.strategy = prune,
     .name = "prune",
     .other_names = "magnitude_prune",
     .help = "the sum of the largest numbers of each change",
     .takes_density = true},
    {.strategy = ties,
     .name = "ties",
     .other_names = "",
     .help = "the largest numbers of each change; where their signs differ, the mean of those with "
             "the sign of their sum",
     .takes_density = true},
    {.strategy = dare,
     .name = "dare",
     .other_names = "dare_linear",
     .help = "the sum of numbers that are kept by chance and divided by the density",
     .takes_density = true,
     .takes_seed = true},
    {.strategy = dare_ties,
     .name = "dare_ties",
     .other_names = "",
     .help = "numbers that are kept by chance as in dare, signs and means as in ties",
     .takes_density = true,
     .takes_seed = true},
};

// Whether the list, with spaces between its words, has the word.
bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

std::string strategy_names() {
  std::string names;
  for (const MergeStrategyRow& row : kRows) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  }
  return names;
}

}  // namespace

std::span<const MergeStrategyRow> merge_strategies() { return kRows; }

const MergeStrategyRow& strategy_row(MergeStrategy strategy) {
  return *std::ranges::find(kRows, strategy, &MergeStrategyRow::strategy);
}

Result<MergeStrategy> find_merge_strategy(std::string_view name) {
  for (const MergeStrategyRow& row : kRows) {
    if (row.name == name || has_word(row.other_names, name)) return row.strategy;
  }
  if (name == "task_routed" || name == "taskrouted") {
    return fail(Code::unsupported,
                "strategy '{}': a router chooses the adapter of each request, so there is no one "
                "adapter to write; load the adapters side by side and name one in each request",
                name);
  }
  return fail(Code::invalid, "strategy '{}' is not one of {}", name, strategy_names());
}

Status check_recipe(const MergeRecipe& recipe, size_t n_adapters) {
  const MergeStrategyRow& row = strategy_row(recipe.strategy);
  if (n_adapters == 0) return fail(Code::invalid, "there are no adapters to merge");
  if (!recipe.weights.empty() && !row.takes_weights) {
    return fail(Code::invalid, "strategy {} takes no weights; t is its only number", row.name);
  }
  if (!recipe.weights.empty() && recipe.weights.size() != n_adapters) {
    return fail(Code::invalid, "there are {} weights for {} adapters", recipe.weights.size(),
                n_adapters);
  }
  double sum = 0;
  for (size_t i = 0; i < n_adapters; ++i) {
    if (!std::isfinite(recipe.weight(i))) {
      return fail(Code::invalid, "weight {} is not a finite number", recipe.weight(i));
    }
    sum += recipe.weight(i);
  }
  if (recipe.strategy == average && sum == 0) {
    return fail(Code::invalid, "the weights have the sum 0, by which a mean cannot be divided");
  }
  if (row.takes_t && n_adapters != 2) {
    return fail(Code::invalid, "strategy {} takes two adapters, and there are {}", row.name,
                n_adapters);
  }
  if (row.takes_t && !(recipe.t >= 0 && recipe.t <= 1)) {
    return fail(Code::invalid, "t is {}; it is from 0 to 1", recipe.t);
  }
  if (row.takes_density && !(recipe.density > 0 && recipe.density <= 1)) {
    return fail(Code::invalid, "density is {}; it is above 0 and at most 1", recipe.density);
  }
  return {};
}

}  // namespace ruv
