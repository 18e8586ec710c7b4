// NEON matmul for the 32-number formats.
#include "kernels/arm/neon.inc.h"
#include "kernels/generic/blocks.inc.h"
#include "kernels/isa.h"

namespace ruv {
namespace {

constexpr GemmKernel kRows[] = {
    block_row<Neon, Q4_0<Neon>>(), block_row<Neon, Q4_1<Neon>>(),  block_row<Neon, Q5_0<Neon>>(),
    block_row<Neon, Q5_1<Neon>>(), block_row<Neon, Q8_0<Neon>>(),  block_row<Neon, Iq4Nl<Neon>>(),
    block_row<Neon, A4<Neon>>(),   block_row<Neon, A4F32<Neon>>(), block_row<Neon, A8F32<Neon>>(),
};

}  // namespace

constinit const GemmTable kNeonBlocks = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
