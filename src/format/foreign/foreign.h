// Reads quantised checkpoints of other tools: tensors that belong to one matrix ("x.qweight",
// "x.scales", …) become one tensor with the ordinary name ("x.weight") and exactly the same
// numbers.
#pragma once

#include "format/foreign/checkpoint.h"

namespace ruv {

// Replaces them in `stored`, whose bytes outlive the result. Appends to `remarks`. Fails: corrupt,
// unsupported, naming the tensor.
Status read_foreign_tensors(const ForeignConfig& config, StoredTensors& stored,
                            std::vector<std::string>& remarks);

}  // namespace ruv
