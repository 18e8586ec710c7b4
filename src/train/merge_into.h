// Adapters merged into the weights of a model, as a file that needs no adapter.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "format/adapter_file.h"

namespace ruv {

struct AdapterToMerge {
  AdapterFile file;
  float scale = 1;
};

struct MergeIntoOptions {
  // f32, f16 or bf16, of matrices that change. Nothing: as the model has them, or f16 where they
  // are quantised.
  std::optional<DType> dtype = {};
  bool replace = false;
  // As RewriteOptions::go_on.
  std::function<bool(double)> go_on = {};
};

struct MergeIntoSummary {
  int64_t n_matrices = 0, n_rows = 0;  // that changed
};

// Writes the model at `model_path` to the GGUF file `out_path` with W + scale · B · A in the place
// of W, in the order of the adapters. Holds A and B of all of them as float32 and some rows of the
// model. Fails: as load_model, find_matrices, MergedRows::create and rewrite_model; unsupported (a
// matrix that is not in the file as it is used, whole matrices beside an adapter).
Result<MergeIntoSummary> merge_into_model(const std::string& model_path,
                                          const std::vector<AdapterToMerge>& adapters,
                                          const std::string& out_path,
                                          const MergeIntoOptions& options);

}  // namespace ruv
