// AVX-VNNI matmul for the 256-number formats.
#include "kernels/generic/superblocks.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avxvnni.inc.h"

namespace ruv {
namespace {

constexpr GemmKernel kRows[] = {
    super_row<AvxVnni, Q2K<AvxVnni>>(), super_row<AvxVnni, Q3K<AvxVnni>>(),
    super_row<AvxVnni, Q4K<AvxVnni>>(), super_row<AvxVnni, Q5K<AvxVnni>>(),
    super_row<AvxVnni, Q6K<AvxVnni>>(), super_row<AvxVnni, Iq4Xs<AvxVnni>>(),
};

}  // namespace

constinit const GemmTable kAvxVnniSuperblocks = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
