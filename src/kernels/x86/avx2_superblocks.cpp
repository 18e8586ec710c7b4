// AVX2 matmul for the 256-number formats.
#include "kernels/generic/superblocks.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avx2.inc.h"
#include "kernels/x86/pair_panel.inc.h"

namespace ruv {
namespace {

constexpr GemmKernel kRows[] = {
    super_row<Avx2, Q2K<Avx2>>(), super_row<Avx2, Q3K<Avx2>>(),
    super_row<Avx2, Q4K<Avx2>>(), super_row<Avx2, Q5K<Avx2>>(),
    super_row<Avx2, Q6K<Avx2>>(), super_row<Avx2Signed, Iq4Xs<Avx2Signed>>(),
};

}  // namespace

constinit const GemmTable kAvx2Superblocks = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
