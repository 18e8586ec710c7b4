// The tables of distances by instruction set. Each object file that is built with flags of its own
// defines exactly one of these symbols (tools/check_isa_symbols).
#pragma once

#include "kernels/distances.h"

namespace ruv {

extern const DistanceKernels kRefDistances;
extern const DistanceKernels kAvx2Distances, kAvx512Distances;
extern const DistanceKernels kNeonDistances;

}  // namespace ruv
