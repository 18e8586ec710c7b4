// AVX2 matmul for float weights.
#include "kernels/generic/gemm_scaled_float.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avx2.inc.h"

namespace ruv {
namespace {

constexpr GemmKernel kRows[] = {
    float_row<Avx2, DType::f32>(),         float_row<Avx2, DType::f16>(),
    float_row<Avx2, DType::bf16>(),        scaled_float_row<Avx2, DType::e4m3>(),
    scaled_float_row<Avx2, DType::e5m2>(), scaled_float_row<Avx2, DType::nf4>(),
    scaled_float_row<Avx2, DType::fp4>(),
};

}  // namespace

constinit const GemmTable kAvx2Floats = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
