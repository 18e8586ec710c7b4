// MergeStrategy: the ways to make one adapter of several, and the numbers that a merge is given.
// All act on the changes ΔW = scale · B · A themselves, not on A and B.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ruv {

enum class MergeStrategy : uint8_t {
  linear,
  average,
  cat,
  interpolate,
  slerp,
  most_recent,
  prune,
  ties,
  dare,
  dare_ties,
};

struct MergeStrategyRow {
  MergeStrategy strategy;
  std::string_view name;
  std::string_view other_names;  // with spaces between them
  std::string_view help;
  bool takes_weights = true;
  bool takes_t = false;        // of two adapters
  bool takes_density = false;  // its result has no two thin factors
  bool takes_seed = false;
};
std::span<const MergeStrategyRow> merge_strategies();
const MergeStrategyRow& strategy_row(MergeStrategy strategy);
// Fails: invalid (unknown; the message lists all), unsupported (task_routed, which a merge cannot
// do).
Result<MergeStrategy> find_merge_strategy(std::string_view name);

struct MergeRecipe {
  MergeStrategy strategy = MergeStrategy::linear;
  std::vector<double> weights = {};  // one for each adapter; empty: 1 for all
  double t = 0.5;                    // 0 is the first of two adapters, 1 the second
  double density = 0.5;              // share of the numbers that are kept
  uint64_t seed = 0;                 // of what is dropped

  double weight(size_t adapter) const { return weights.empty() ? 1 : weights[adapter]; }
};
// Fails: invalid, naming the value that the strategy cannot use with this number of adapters.
Status check_recipe(const MergeRecipe& recipe, size_t n_adapters);

}  // namespace ruv
