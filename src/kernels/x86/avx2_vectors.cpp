// AVX2 element-wise, reduction and attention kernels, in floats.
#include "kernels/generic/vector_table.inc.h"
#include "kernels/x86/avx2.inc.h"

namespace ruv {

constinit const Kernels kAvx2Vectors = vector_table<Avx2>("avx2");

}  // namespace ruv
