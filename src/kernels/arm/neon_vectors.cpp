// NEON element-wise, reduction and attention kernels.
#include "kernels/arm/neon_bytes.inc.h"
#include "kernels/generic/vector_table.inc.h"

namespace ruv {

constinit const Kernels kNeonVectors = vector_table<Neon, NeonBytes>("neon");

}  // namespace ruv
