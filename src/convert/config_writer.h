// config.json of a model, from its numbers and the record of a model class: the inverse of
// parse_hf_config (format/hf_config.h).
#pragma once

#include <string_view>

#include "base/json.h"
#include "model/model.h"

namespace ruv {

// A config of class `hf` for the model. It holds what the class can say of it; whether that is all
// that the model is, the caller has to find by reading it back. `dtype`: the name that torch has
// for the type of its numbers. Requires: the model was examined and has numbers. Fails: unsupported
// (the class cannot say a number), naming the key.
Result<Json> hf_config_of(const Model& model, const HfClass& hf, std::string_view dtype);

}  // namespace ruv
