// Whether a folder says of a model what a GGUF file says of it: the keys of the file one by one,
// and what both mean where one of them leaves it to the family.
#pragma once

#include "model/model.h"

namespace ruv {

// Fails: unsupported, naming the key or number in which they differ. Requires: both were examined
// and have numbers.
Status check_same_model(const Model& source, const Model& folder);

// Whether two values of a key have one type and are equal, numbers as float32.
bool same_meta_value(const MetaValue& a, const MetaValue& b);

}  // namespace ruv
