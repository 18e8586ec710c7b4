// NEON matmul with matrix instructions for the 256-number formats.
#include "kernels/arm/neon_i8mm.inc.h"
#include "kernels/generic/superblocks.inc.h"
#include "kernels/isa.h"

namespace ruv {
namespace {

constexpr GemmKernel kRows[] = {
    super_row<NeonI8mm, Q2K<NeonI8mm>>(), super_row<NeonI8mm, Q3K<NeonI8mm>>(),
    super_row<NeonI8mm, Q4K<NeonI8mm>>(), super_row<NeonI8mm, Q5K<NeonI8mm>>(),
    super_row<NeonI8mm, Q6K<NeonI8mm>>(), super_row<NeonI8mm, Iq4Xs<NeonI8mm>>(),
};

}  // namespace

constinit const GemmTable kNeonI8mmSuperblocks = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
