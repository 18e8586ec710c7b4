// AVX-512 matmul of bf16 weights, and of f16 weights rounded to bf16, by activations rounded to
// bf16: pairs of products added up in float32, twice as many a cycle as float32 multiply-adds.
// Needs BF16.
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

constexpr GemmKernel pair_row(DType weight, decltype(GemmKernel::pack) pack) {
  return {weight,
          ActFormat::bf16,
          kFloatVectors * Avx512::kLanes,
          packed_bf16_pair_bytes<64>,
          pack,
          multiply_float<Avx512Bf16, PairFormat<Avx512Bf16>>,
          Avx512::kFloatPrefetch};
}

constexpr GemmKernel kRows[] = {pair_row(DType::bf16, pack_bf16_pairs<64>),
                                pair_row(DType::f16, pack_f16_as_bf16_pairs<64>)};

int64_t bf16_peak(int64_t rounds, float* sink) {
  __m512 acc[16];
  RUV_UNROLL
  for (int i = 0; i < 16; ++i) acc[i] = _mm512_set1_ps(*sink + static_cast<float>(i));
  const __m512bh a = _mm512_cvtne2ps_pbh(acc[0], acc[1]);
  const __m512bh b = _mm512_cvtne2ps_pbh(_mm512_setzero_ps(), acc[1]);
  for (int64_t round = 0; round < rounds; ++round) {
    RUV_UNROLL
    for (int i = 0; i < 16; ++i) acc[i] = _mm512_dpbf16_ps(acc[i], a, b);
  }
  RUV_UNROLL
  for (int i = 1; i < 16; ++i) acc[0] = _mm512_add_ps(acc[0], acc[i]);
  *sink = _mm512_reduce_add_ps(acc[0]);
  return rounds * 16 * 32;
}

// Subnormal numbers become zero, as in the products.
void to_bf16(const float* x, uint16_t* out, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256bh y = _mm512_cvtneps_pbh(_mm512_loadu_ps(x + i));
    __builtin_memcpy(out + i, &y, sizeof y);
  }
  if (i == n) return;
  const auto part = static_cast<__mmask16>((1U << (n - i)) - 1);
  const __m256bh y = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(part, x + i));
  __builtin_memcpy(out + i, &y, static_cast<size_t>(n - i) * sizeof(uint16_t));
}

}  // namespace

constinit const Bf16Pairs kAvx512Bf16 = {
    {kRows, sizeof kRows / sizeof kRows[0]}, to_bf16, bf16_peak};

}  // namespace ruv
