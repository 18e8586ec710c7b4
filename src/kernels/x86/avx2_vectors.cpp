// AVX2 element-wise, reduction and attention kernels.
#include "kernels/generic/vector_table.inc.h"
#include "kernels/x86/avx2_bytes.inc.h"

namespace ruv {

constinit const Kernels kAvx2Vectors = vector_table<Avx2, Avx2Bytes>("avx2");

}  // namespace ruv
