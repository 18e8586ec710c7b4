#include "adapt/merged_change.h"

#include <cmath>
#include <numbers>

#include "adapt/number_merge.h"

namespace ruv {
namespace {

// Angles closer to 0 than this are taken as lines, which the arc is to rounding; closer to a half
// turn there is no one arc.
constexpr double kLineAngle = 1e-6, kOppositeAngle = 1e-3;

// What the arc between two changes takes of each.
Result<std::pair<double, double>> arc_shares(const ThinProduct& x, const ThinProduct& y, double t,
                                             const std::string& module) {
  const double lengths = length_of(x) * length_of(y);
  if (lengths == 0) return std::pair(1 - t, t);
  const double cosine = inner_product(x, y) / lengths;
  const double angle = std::acos(std::clamp(cosine, -1.0, 1.0));
  if (angle < kLineAngle) return std::pair(1 - t, t);
  if (angle > std::numbers::pi - kOppositeAngle) {
    return fail(Code::invalid,
                "'{}': the two changes are opposite, so that there is no one arc between them; use "
                "strategy interpolate",
                module);
  }
  return std::pair(std::sin((1 - t) * angle) / std::sin(angle),
                   std::sin(t * angle) / std::sin(angle));
}

// The weight of each change in the sum.
Result<std::vector<double>> shares(const MergeRecipe& recipe, std::span<const ModuleChange> changes,
                                   const std::string& module, size_t n_adapters) {
  std::pair<double, double> pair(1 - recipe.t, recipe.t);
  if (recipe.strategy == MergeStrategy::slerp && changes.size() == 2) {
    pair = TRY(arc_shares(changes[0].product, changes[1].product, recipe.t, module));
  }
  // A mean counts the adapters without the module as well.
  double sum = 1;
  if (recipe.strategy == MergeStrategy::average) {
    sum = 0;
    for (size_t i = 0; i < n_adapters; ++i) sum += recipe.weight(i);
  }
  std::vector<double> weights;
  for (const ModuleChange& change : changes) {
    const double of_two = change.adapter == 0 ? pair.first : pair.second;
    weights.push_back(strategy_row(recipe.strategy).takes_t ? of_two
                                                            : recipe.weight(change.adapter) / sum);
  }
  return weights;
}

}  // namespace

void MergedChange::read_row(int64_t row, std::span<float> to) const {
  if (!product) {
    std::copy_n(dense().row(row), n_cols, to.begin());
    return;
  }
  std::vector<double> sum(static_cast<size_t>(n_cols));
  for (int64_t k = 0; k < product->rank(); ++k) {
    add_scaled(sum, product->b.col(k)[static_cast<size_t>(row)], product->a.col(k));
  }
  for (size_t j = 0; j < sum.size(); ++j) to[j] = static_cast<float>(sum[j]);
}

Result<MergedChange> merged_change(const MergeRecipe& recipe, std::span<const ModuleChange> changes,
                                   const std::string& module, size_t n_adapters, int64_t max_bytes,
                                   WorkerPool& pool) {
  MergedChange merged;
  merged.n_rows = changes.front().product.b.n_rows;
  merged.n_cols = changes.front().product.a.n_rows;
  if (strategy_row(recipe.strategy).takes_density) {
    if (merged.n_rows > max_bytes / merged.n_cols / int64_t{sizeof(float)}) {
      return fail(Code::out_of_memory, "'{}': {} · {} numbers take more than the {} bytes allowed",
                  module, merged.n_rows, merged.n_cols, max_bytes);
    }
    merged.numbers = TRY(merge_numbers(recipe, changes, module, pool));
    return merged;
  }
  if (recipe.strategy == MergeStrategy::most_recent) changes = changes.last(1);
  const std::vector<double> weights = TRY(shares(recipe, changes, module, n_adapters));
  std::vector<ThinProduct> products;
  for (const ModuleChange& change : changes) products.push_back(change.product);
  merged.product = weighted_sum(products, weights);
  return merged;
}

}  // namespace ruv
