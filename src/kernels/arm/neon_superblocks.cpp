// NEON matmul for the 256-number formats.
#include "kernels/arm/neon.inc.h"
#include "kernels/generic/superblocks.inc.h"
#include "kernels/isa.h"

namespace ruv {
namespace {

constexpr GemmKernel kRows[] = {
    super_row<Neon, Q2K<Neon>>(), super_row<Neon, Q3K<Neon>>(), super_row<Neon, Q4K<Neon>>(),
    super_row<Neon, Q5K<Neon>>(), super_row<Neon, Q6K<Neon>>(), super_row<Neon, Iq4Xs<Neon>>(),
};

}  // namespace

constinit const GemmTable kNeonSuperblocks = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
