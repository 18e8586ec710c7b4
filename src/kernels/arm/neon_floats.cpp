// NEON matmul for float weights.
#include "kernels/arm/neon_floats.inc.h"
#include "kernels/generic/gemm_scaled_float.inc.h"
#include "kernels/isa.h"

namespace ruv {
namespace {

constexpr GemmKernel kRows[] = {
    float_row<Neon, DType::f32>(),         float_row<Neon, DType::f16>(),
    float_row<Neon, DType::bf16>(),        scaled_float_row<Neon, DType::e4m3>(),
    scaled_float_row<Neon, DType::e5m2>(), scaled_float_row<Neon, DType::nf4>(),
    scaled_float_row<Neon, DType::fp4>(),
};

}  // namespace

constinit const GemmTable kNeonFloats = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
