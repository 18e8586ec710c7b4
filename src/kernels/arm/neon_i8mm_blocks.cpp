// NEON matmul with matrix instructions for the 32-number formats.
#include "kernels/arm/neon_i8mm.inc.h"
#include "kernels/generic/blocks.inc.h"
#include "kernels/isa.h"

namespace ruv {
namespace {

constexpr GemmKernel kRows[] = {
    block_row<NeonI8mm, Q4_0<NeonI8mm>>(),  block_row<NeonI8mm, Q4_1<NeonI8mm>>(),
    block_row<NeonI8mm, Q5_0<NeonI8mm>>(),  block_row<NeonI8mm, Q5_1<NeonI8mm>>(),
    block_row<NeonI8mm, Q8_0<NeonI8mm>>(),  block_row<NeonI8mm, Iq4Nl<NeonI8mm>>(),
    block_row<NeonI8mm, A4<NeonI8mm>>(),    block_row<NeonI8mm, A4F32<NeonI8mm>>(),
    block_row<NeonI8mm, A8F32<NeonI8mm>>(),
};

}  // namespace

constinit const GemmTable kNeonI8mmBlocks = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
