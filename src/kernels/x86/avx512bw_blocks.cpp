// Matmul on AVX-512 without VNNI for the 32-number formats.
#include "kernels/generic/blocks.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avx512bw.inc.h"
#include "kernels/x86/pair_panel.inc.h"

namespace ruv {
namespace {

constexpr GemmKernel kRows[] = {
    block_row<Avx512Bw, Q4_0<Avx512Bw>>(),
    block_row<Avx512Bw, Q4_1<Avx512Bw>>(),
    block_row<Avx512Bw, Q5_0<Avx512Bw>>(),
    block_row<Avx512Bw, Q5_1<Avx512Bw>>(),
    block_row<Avx512BwTiles, Q8_0<Avx512BwTiles>>(),
    block_row<Avx512BwTiles, Iq4Nl<Avx512BwTiles>>(),
    block_row<Avx512Bw, A4<Avx512Bw>>(),
    block_row<Avx512Bw, A4F32<Avx512Bw>>(),
    block_row<Avx512BwTiles, A8F32<Avx512BwTiles>>(),
};

}  // namespace

constinit const GemmTable kAvx512BwBlocks = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
