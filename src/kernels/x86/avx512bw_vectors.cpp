// Element-wise, reduction and attention kernels of AVX-512 without VNNI.
#include "kernels/generic/vector_table.inc.h"
#include "kernels/x86/avx512bw_bytes.inc.h"

namespace ruv {

constinit const Kernels kAvx512BwVectors = [] {
  Kernels table = vector_table<Avx512, Avx512BwBytes>("avx512bw");
  table.int8_peak = Avx512Bw::int8_peak;
  return table;
}();

}  // namespace ruv
