// AVX2 matmul for the 32-number formats.
#include "kernels/generic/blocks.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avx2.inc.h"
#include "kernels/x86/pair_panel.inc.h"

namespace ruv {
namespace {

constexpr GemmKernel kRows[] = {
    block_row<Avx2, Q4_0<Avx2>>(),
    block_row<Avx2, Q4_1<Avx2>>(),
    block_row<Avx2, Q5_0<Avx2>>(),
    block_row<Avx2, Q5_1<Avx2>>(),
    block_row<Avx2Signed, Q8_0<Avx2Signed>>(),
    block_row<Avx2Signed, Iq4Nl<Avx2Signed>>(),
    block_row<Avx2, A4<Avx2>>(),
    block_row<Avx2, A4F32<Avx2>>(),
    block_row<Avx2Signed, A8F32<Avx2Signed>>(),
};

}  // namespace

constinit const GemmTable kAvx2Blocks = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
