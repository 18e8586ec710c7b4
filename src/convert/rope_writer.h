// Settings of rotary positions in a config.json: the inverse of format/hf_rope.cpp.
#pragma once

#include "base/json.h"
#include "model/model.h"

namespace ruv {

// Adds them to `config`, of class `hf`. Fails: unsupported, where the file scales positions in a
// way that a config has no words for.
Status put_rope(const Model& model, const HfClass& hf, Json& config);

}  // namespace ruv
