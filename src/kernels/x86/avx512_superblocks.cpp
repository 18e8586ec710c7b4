// AVX-512 matmul for the 256-number formats.
#include "kernels/generic/superblocks.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avx512.inc.h"

namespace ruv {
namespace {

constexpr GemmKernel kRows[] = {
    super_row<Avx512, Q2K<Avx512>>(), super_row<Avx512, Q3K<Avx512>>(),
    super_row<Avx512, Q4K<Avx512>>(), super_row<Avx512, Q5K<Avx512>>(),
    super_row<Avx512, Q6K<Avx512>>(), super_row<Avx512, Iq4Xs<Avx512>>(),
};

}  // namespace

constinit const GemmTable kAvx512Superblocks = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
