// Attention kernels over pages of integers of AVX-512 without VNNI.
#include "kernels/generic/byte_table.inc.h"
#include "kernels/x86/avx512bw_bytes.inc.h"

namespace ruv {

constinit const Kernels kAvx512BwBytes = byte_table<Avx512BwBytes>("avx512bw", Avx512Bw::int8_peak);

}  // namespace ruv
