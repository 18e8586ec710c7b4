// AVX-512 matmul of bf16 weights by activations rounded to bf16: pairs of products added up in
// float32, twice as many a cycle as float32 multiply-adds. Needs BF16.
#include "kernels/generic/gemm_float.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avx512.inc.h"

namespace ruv {
namespace {

struct Avx512Bf16 : Avx512 {
  RUV_INLINE static F dot_bf16(B w, uint32_t x, F acc) {
    const B pair = _mm512_set1_epi32(static_cast<int>(x));
    __m512bh a;
    __m512bh b;
    __builtin_memcpy(&a, &w, sizeof a);
    __builtin_memcpy(&b, &pair, sizeof b);
    return _mm512_dpbf16_ps(acc, a, b);
  }
};

constexpr GemmKernel kRows[] = {{DType::bf16, ActFormat::bf16, kFloatVectors* Avx512::kLanes,
                                 packed_bf16_pair_bytes<64>, pack_bf16_pairs<64>,
                                 multiply_float<Avx512Bf16, Bf16Pairs<Avx512Bf16>>}};

}  // namespace

constinit const GemmTable kAvx512Bf16 = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
