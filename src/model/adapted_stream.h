// What control vectors among a batch's adapters add to the residual stream between layers. It is
// added to what a whole layer has made of the stream, after all of the layer's norms and scales, so
// that it means the same in every block.
#pragma once

#include "device/ops.h"

namespace ruv {

// Whether some sequence of the batch has a direction after this layer.
bool has_direction(const Batch& batch, int64_t layer);
// x[r] += scale · direction, for the adapters of each row in the order of its mix. Rows of
// sequences without a direction there are not changed.
void add_directions(Ops& ops, const Batch& batch, int64_t layer, View x);

}  // namespace ruv
