// merge_adapters: makes one adapter of several and writes it, one module in memory at a time.
#pragma once

#include <functional>

#include "adapt/adapter_set.h"

namespace ruv {

// A module that was merged.
struct MergeStep {
  std::string_view tensor = {};
  int64_t index = 0;  // of n_modules
  int64_t n_modules = 0;
  int64_t rank = 0;
  // Length of what was written minus what the strategy says, over the length of the latter.
  double relative_error = 0;
};

enum class MergedRank : uint8_t { sum, largest, given };

struct MergeOptions {
  // The rank of each module: the sum of the ranks that its adapters have, the largest of them, or
  // `rank`, at most. The closest change of that rank is written.
  MergedRank rank_of = MergedRank::sum;
  int64_t rank = 0;
  DType dtype = DType::f32;  // or f16, bf16
  std::string base = {};     // empty: as the adapters say
  bool replace = false;
  int n_threads = 0;                     // 0: one per core
  int64_t max_bytes = int64_t{4} << 30;  // of the numbers of one module
  // Called after each module; false stops with Code::cancelled and leaves no file.
  std::function<bool(const MergeStep&)> on_module = {};
};

struct MergeSummary {
  int64_t n_modules = 0, n_params = 0, n_bytes = 0;
  double relative_error = 0;  // of all modules together
  double worst_error = 0;
  std::string worst = {};  // the module with that
};

// Writes a GGUF file where the adapters are such, else a folder of PEFT. Fails: invalid (the name
// of the output suits the other container, strategy cat with a rank), corrupt, unsupported,
// out_of_memory, cancelled, and as writing files does.
Result<MergeSummary> merge_adapters(const AdapterSet& set, const std::string& out_path,
                                    const MergeOptions& options);

}  // namespace ruv
