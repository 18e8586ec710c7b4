// Binds what time mix and channel mix have besides the matrices of roles.
#pragma once

#include "model/model.h"
#include "model/weight_source.h"

namespace ruv {

// `prefix`: of the layer's tensors, "blk.3.". Fails: as bind_weights.
Status bind_time_mix(const Model& model, WeightSource& source, const std::string& prefix,
                     int64_t layer, TimeMixWeights& weights);

}  // namespace ruv
