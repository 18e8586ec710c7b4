// AVX2 matmul for float weights.
#include "kernels/generic/gemm_float.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avx2.inc.h"

namespace ruv {
namespace {

constexpr GemmKernel kRows[] = {
    float_row<Avx2, DType::f32>(),
    float_row<Avx2, DType::f16>(),
    float_row<Avx2, DType::bf16>(),
};

}  // namespace

constinit const GemmTable kAvx2Floats = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
