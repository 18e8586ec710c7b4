// Which model classes a folder may be written for.
#pragma once

#include "family/family.h"

namespace ruv {

// Whether the config.json and the tensor names of the class are written from a GGUF file of its
// family: an oracle has shown that transformers then loads the same model.
bool is_written_class(const HfClass& hf);

}  // namespace ruv
