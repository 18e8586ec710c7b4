// AVX-512 matmul for the 32-number formats.
#include "kernels/generic/blocks.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avx512.inc.h"

namespace ruv {
namespace {

constexpr GemmKernel kRows[] = {
    block_row<Avx512, Q4_0<Avx512>>(),
    block_row<Avx512, Q4_1<Avx512>>(),
    block_row<Avx512, Q5_0<Avx512>>(),
    block_row<Avx512, Q5_1<Avx512>>(),
    block_row_packed_by<Avx512, Q8_0<Avx512>>(pack_q8_0_offset_16),
    block_row<Avx512, Iq4Nl<Avx512>>(),
    block_row<Avx512, A4<Avx512>>(),
    block_row<Avx512, A4F32<Avx512>>(),
    block_row_packed_by<Avx512, A8F32<Avx512>>(pack_unsigned_a8_f32<Avx512::kLanes>),
};

}  // namespace

constinit const GemmTable kAvx512Blocks = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
