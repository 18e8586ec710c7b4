// The matmul rows of the reference table.
#pragma once

#include <span>

#include "kernels/kernels.h"

namespace ruv {
std::span<const GemmKernel> ref_gemm();
}
