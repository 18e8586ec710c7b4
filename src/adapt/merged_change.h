// MergedChange: what a recipe makes of the changes of one module, exactly: a sum of thin products,
// or numbers where a strategy looks at each number.
#pragma once

#include <optional>

#include "adapt/strategy.h"
#include "adapt/thin_product.h"
#include "base/buffer.h"

namespace ruv {

// The change that one of the adapters makes to a module.
struct ModuleChange {
  size_t adapter = 0;  // its number in the recipe
  ThinProduct product;
};

struct MergedChange {
  std::optional<ThinProduct> product;
  Buffer numbers;  // without a product: n_rows · n_cols float32
  int64_t n_rows = 0, n_cols = 0;

  DenseChange dense() const { return {n_rows, n_cols, numbers.as<float>()}; }
  // Numbers of one row. Requires: n_cols numbers.
  void read_row(int64_t row, std::span<float> to) const;
};

// An adapter that lacks the module changes it by nothing: it has no part in sums, means of signs
// and what is kept, and counts as 0 in `average`, `interpolate` and `slerp`. `module` seeds what is
// dropped and is quoted in errors. Requires: check_recipe() is ok, `changes` are of one shape, in
// the order of the adapters, not none; numbers are finite. Fails: invalid (slerp between opposite
// changes), out_of_memory (numbers beyond max_bytes).
Result<MergedChange> merged_change(const MergeRecipe& recipe, std::span<const ModuleChange> changes,
                                   const std::string& module, size_t n_adapters, int64_t max_bytes,
                                   WorkerPool& pool);

}  // namespace ruv
