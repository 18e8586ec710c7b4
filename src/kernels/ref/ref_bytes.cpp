// The reference's attention kernels over pages of integers.
#include "kernels/generic/byte_table.inc.h"
#include "kernels/ref/plain.inc.h"

namespace ruv {

constinit const Kernels kRefBytes = byte_table<PlainBytes>("ref", Plain::int8_peak);

}  // namespace ruv
