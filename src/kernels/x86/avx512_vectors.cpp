// AVX-512 element-wise, reduction and attention kernels, in floats: the same with VNNI and without.
#include "kernels/generic/vector_table.inc.h"
#include "kernels/x86/avx512.inc.h"

namespace ruv {

constinit const Kernels kAvx512Vectors = vector_table<Avx512>("avx512");

}  // namespace ruv
