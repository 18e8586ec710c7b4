// AdapterSet: several adapters side by side, module by module, and what a recipe makes of each.
#pragma once

#include <map>

#include "adapt/merged_change.h"
#include "format/adapter_file.h"

namespace ruv {

// A module of one adapter at least.
struct SetModule {
  std::string tensor;
  int64_t n_out = 0, n_in = 0;
  // Those that have it, in the order of the adapters.
  std::vector<std::pair<size_t, const AdapterModule*>> parts;

  int64_t sum_of_ranks() const;
  int64_t largest_rank() const;
};

class AdapterSet {
 public:
  // Fails, naming the adapters: invalid (the recipe; adapters that name tensors in two ways;
  // matrices of one module whose shapes differ). Requires: `files` outlive the set.
  static Result<AdapterSet> join(std::span<const AdapterFile> files, MergeRecipe recipe);

  // By name.
  const std::vector<SetModule>& modules() const { return modules_; }
  const MergeRecipe& recipe() const { return recipe_; }
  std::span<const AdapterFile> files() const { return files_; }
  // Whether tensors have the names and orders of GGUF files.
  bool is_gguf() const { return files_.front().container == AdapterContainer::gguf; }
  // The model that all are for; empty where none says. Fails: invalid (they name different ones).
  Result<std::string> base() const;
  // All files that the adapters were read from, which a merge must not write over.
  std::vector<FileId> inputs() const;
  // What the recipe makes of a module. Fails: corrupt (a number that is not finite), and as
  // merged_change.
  Result<MergedChange> change(const SetModule& module, int64_t max_bytes, WorkerPool& pool) const;

 private:
  AdapterSet(std::span<const AdapterFile> files, MergeRecipe recipe)
      : files_(files), recipe_(std::move(recipe)) {}
  Status add(size_t adapter, std::map<std::string, size_t>& places);

  std::span<const AdapterFile> files_;
  MergeRecipe recipe_;
  std::vector<SetModule> modules_;
};

}  // namespace ruv
