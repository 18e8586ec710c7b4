// AVX-512 VNNI attention kernels over pages of integers.
#include "kernels/generic/byte_table.inc.h"
#include "kernels/x86/avx512_bytes.inc.h"

namespace ruv {

constinit const Kernels kAvx512Bytes = byte_table<Avx512Bytes>("avx512", Avx512::int8_peak);

}  // namespace ruv
