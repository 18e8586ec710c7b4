// AVX-512 element-wise, reduction and attention kernels.
#include "kernels/generic/vector_table.inc.h"
#include "kernels/x86/avx512_bytes.inc.h"

namespace ruv {

constinit const Kernels kAvx512Vectors = vector_table<Avx512, Avx512Bytes>("avx512");

}  // namespace ruv
