// Matmul on AVX-512 without VNNI for the 256-number formats.
#include "kernels/generic/superblocks.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avx512bw.inc.h"
#include "kernels/x86/pair_panel.inc.h"

namespace ruv {
namespace {

constexpr GemmKernel kRows[] = {
    super_row<Avx512Bw, Q2K<Avx512Bw>>(), super_row<Avx512Bw, Q3K<Avx512Bw>>(),
    super_row<Avx512Bw, Q4K<Avx512Bw>>(), super_row<Avx512Bw, Q5K<Avx512Bw>>(),
    super_row<Avx512Bw, Q6K<Avx512Bw>>(), super_row<Avx512BwTiles, Iq4Xs<Avx512BwTiles>>(),
};

}  // namespace

constinit const GemmTable kAvx512BwSuperblocks = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
