// The names by which requests may mean a model.
#pragma once

#include <string>
#include <vector>

#include "ruv/model.h"

namespace ruv {

// At least one; answers carry the first: the given one, unless it is empty, else the file's name
// without .gguf, else the name inside the file, else the file's name.
std::vector<std::string> model_names(const std::string& given, const std::string& path,
                                     const ModelInfo& info);

}  // namespace ruv
