// NEON attention kernels over pages of integers.
#include "kernels/arm/neon_bytes.inc.h"
#include "kernels/generic/byte_table.inc.h"

namespace ruv {

constinit const Kernels kNeonBytes = byte_table<NeonBytes>("neon", Neon::int8_peak);

}  // namespace ruv
