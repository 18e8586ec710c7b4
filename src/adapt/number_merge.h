// Merging number by number: which numbers of each change are kept, and what becomes of those that
// meet.
#pragma once

#include "adapt/merged_change.h"

namespace ruv {

// For strategies with a density. One matrix of numbers is in memory besides the factors. Requires
// and fails: as merged_change.
Result<Buffer> merge_numbers(const MergeRecipe& recipe, std::span<const ModuleChange> changes,
                             const std::string& module, WorkerPool& pool);

}  // namespace ruv
