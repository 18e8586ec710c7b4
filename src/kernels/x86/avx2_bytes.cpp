// AVX2 attention kernels over pages of integers.
#include "kernels/generic/byte_table.inc.h"
#include "kernels/x86/avx2_bytes.inc.h"

namespace ruv {

constinit const Kernels kAvx2Bytes = byte_table<Avx2Bytes>("avx2", Avx2::int8_peak);

}  // namespace ruv
