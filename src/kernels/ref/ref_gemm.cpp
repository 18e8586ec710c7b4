// The reference matmul: that of every instruction set, by the policy that needs none.
#include "kernels/ref/ref_gemm.h"

#include <algorithm>
#include <array>

#include "kernels/generic/codebooks.inc.h"
#include "kernels/generic/gemm_scaled_float.inc.h"
#include "kernels/ref/plain.inc.h"

namespace ruv {
namespace {

constexpr GemmKernel kIntegersAndFloats[] = {
    float_row<Plain, DType::f32>(),         float_row<Plain, DType::f16>(),
    float_row<Plain, DType::bf16>(),        block_row<Plain, Q4_0<Plain>>(),
    block_row<Plain, Q4_1<Plain>>(),        block_row<Plain, Q5_0<Plain>>(),
    block_row<Plain, Q5_1<Plain>>(),        block_row<Plain, Q8_0<Plain>>(),
    super_row<Plain, Q2K<Plain>>(),         super_row<Plain, Q3K<Plain>>(),
    super_row<Plain, Q4K<Plain>>(),         super_row<Plain, Q5K<Plain>>(),
    super_row<Plain, Q6K<Plain>>(),         block_row<Plain, Iq4Nl<Plain>>(),
    super_row<Plain, Iq4Xs<Plain>>(),       block_row<Plain, A4<Plain>>(),
    scaled_float_row<Plain, DType::e4m3>(), scaled_float_row<Plain, DType::e5m2>(),
    scaled_float_row<Plain, DType::nf4>(),  scaled_float_row<Plain, DType::fp4>(),
    block_row<Plain, A4F32<Plain>>(),       block_row<Plain, A8F32<Plain>>(),
};

constexpr auto kRows = [] {
  constexpr size_t kFirst = std::size(kIntegersAndFloats);
  constexpr auto kCodebooks = codebook_rows<Plain>();
  std::array<GemmKernel, kFirst + kCodebooks.size()> rows{};
  std::copy(std::begin(kIntegersAndFloats), std::end(kIntegersAndFloats), rows.begin());
  std::copy(kCodebooks.begin(), kCodebooks.end(), rows.begin() + kFirst);
  return rows;
}();

}  // namespace

std::span<const GemmKernel> ref_gemm() { return kRows; }

}  // namespace ruv
