// The type of quantize_model that keeps the types of a folder's numbers.
#pragma once

#include <string>
#include <vector>

#include "format/model_file.h"
#include "format/tensor_rules.h"

namespace ruv {

struct StoredTypes {
  std::string type;               // that most matrices have
  std::vector<TensorRule> rules;  // for the others
};

// Norms, biases and the like are f32 in GGUF files whatever the folder has. Fails: as
// export_tensors.
Result<StoredTypes> stored_types(const ModelFile& in);

}  // namespace ruv
