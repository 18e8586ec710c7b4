// NEON element-wise, reduction and attention kernels, in floats.
#include "kernels/arm/neon.inc.h"
#include "kernels/generic/vector_table.inc.h"

namespace ruv {

constinit const Kernels kNeonVectors = vector_table<Neon>("neon");

}  // namespace ruv
