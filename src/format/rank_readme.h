// Whether a folder is of a model that ranks documents by a token, which only its README.md says.
#pragma once

#include "format/model_file.h"

namespace ruv {

// By FamilyRecord::ranks: a line of the file's first 256 KB begins with the heading. False for
// files that are no folders, and where the file is missing.
bool ranks_by_readme(const ModelFile& file);

}  // namespace ruv
