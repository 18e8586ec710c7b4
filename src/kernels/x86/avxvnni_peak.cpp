// What AVX-VNNI changes of AVX2's table beside the matmul: its name and its peak.
#include "kernels/isa.h"
#include "kernels/x86/avxvnni.inc.h"

namespace ruv {

constinit const NamedPeak kAvxVnniPeak = {"avxvnni", AvxVnni::int8_peak};

}  // namespace ruv
