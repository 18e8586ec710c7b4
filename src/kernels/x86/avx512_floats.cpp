// AVX-512 matmul for float weights.
#include "kernels/generic/gemm_scaled_float.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avx512.inc.h"

namespace ruv {
namespace {

constexpr GemmKernel kRows[] = {
    float_row<Avx512, DType::f32>(),         float_row<Avx512, DType::f16>(),
    float_row<Avx512, DType::bf16>(),        scaled_float_row<Avx512, DType::e4m3>(),
    scaled_float_row<Avx512, DType::e5m2>(), scaled_float_row<Avx512, DType::nf4>(),
    scaled_float_row<Avx512, DType::fp4>(),
};

}  // namespace

constinit const GemmTable kAvx512Floats = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
