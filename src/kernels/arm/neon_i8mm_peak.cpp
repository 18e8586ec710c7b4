// What I8MM changes of NEON's table beside the matmul: its name and its peak.
#include "kernels/arm/neon_i8mm.inc.h"
#include "kernels/isa.h"

namespace ruv {

constinit const NamedPeak kNeonI8mmPeak = {"neon_i8mm", NeonI8mm::int8_peak};

}  // namespace ruv
