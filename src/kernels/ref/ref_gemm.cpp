// The reference matmul: that of every instruction set, by the policy that needs none.
#include "kernels/ref/ref_gemm.h"

#include "kernels/generic/gemm_float.inc.h"
#include "kernels/generic/superblocks.inc.h"
#include "kernels/ref/plain.inc.h"

namespace ruv {
namespace {

constexpr GemmKernel kRows[] = {
    float_row<Plain, DType::f32>(),   float_row<Plain, DType::f16>(),
    float_row<Plain, DType::bf16>(),  block_row<Plain, Q4_0<Plain>>(),
    block_row<Plain, Q4_1<Plain>>(),  block_row<Plain, Q5_0<Plain>>(),
    block_row<Plain, Q5_1<Plain>>(),  block_row<Plain, Q8_0<Plain>>(),
    super_row<Plain, Q2K<Plain>>(),   super_row<Plain, Q3K<Plain>>(),
    super_row<Plain, Q4K<Plain>>(),   super_row<Plain, Q5K<Plain>>(),
    super_row<Plain, Q6K<Plain>>(),   block_row<Plain, Iq4Nl<Plain>>(),
    super_row<Plain, Iq4Xs<Plain>>(), block_row<Plain, A4<Plain>>(),
};

}  // namespace

std::span<const GemmKernel> ref_gemm() { return kRows; }

}  // namespace ruv
