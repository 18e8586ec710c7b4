// How a model's file says that it is sampled (general.sampling.…).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "format/model_file.h"

namespace ruv {

// ModelInfo::sampling. Keys that we do not honour and values that cannot be are remarks.
std::vector<std::pair<std::string, double>> read_sampling(const ModelFile& file,
                                                          std::vector<std::string>& remarks);

}  // namespace ruv
