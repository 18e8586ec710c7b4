// Adapters (LoRA, control vectors): small files that change what a model says. They are loaded
// beside the model, whose weights stay as they are, and any mix of them computes in one step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ruv/model.h"

namespace ruv {

struct LoadedAdapter;  // opaque here; defined in src/model/adapter.h

// What is added to a model's products, or to the stream between its layers, and what it is
// multiplied by: 0 has no effect, negative numbers take away what was learned. Adapters with
// magnitudes (DoRA) or whole matrices have no meaning but at 1, and with whole matrices only alone;
// other uses are refused.
struct AdapterUse {
  std::shared_ptr<const LoadedAdapter> adapter;
  float scale = 1;
};
// The most that a request may have. Each costs a step about twice its rank's share of the width of
// the model's rows.
inline constexpr size_t kMaxAdapters = 16;

struct AdapterInfo {
  std::string path;
  std::string container;  // "peft", "mlx" or "gguf"
  // The model that it was made for, as the file says; of a control vector the architecture. Empty:
  // it does not.
  std::string base;
  int64_t n_matrices = 0;  // of the model that it adds to
  int64_t max_rank = 0;
  int64_t n_directions = 0;  // of a control vector, each after another layer
  int64_t n_params = 0;
  int64_t n_bytes = 0;  // of its matrices in the file
};

// What a folder or file has, without a model. Fails: not_found, corrupt, unsupported (a kind of
// adapter or a key that is not honoured), each naming the file and the key or tensor.
Result<AdapterInfo> inspect_adapter(const std::string& path);

// Loads a folder of PEFT or MLX, or a GGUF file, for this model, which may come from another
// container. n_threads: that pack the matrices; 0: one per core. Fails: as inspect_adapter; invalid
// (a matrix or layer that the model does not have, or has in another shape, directions that are not
// finite or for another architecture), unsupported (one that adapters may not add to, directions
// where there is no one stream between layers), out_of_memory.
Result<std::shared_ptr<const LoadedAdapter>> load_adapter(std::shared_ptr<const Model> model,
                                                          const std::string& path,
                                                          int n_threads = 0);
AdapterInfo adapter_info(const LoadedAdapter& adapter);

}  // namespace ruv
