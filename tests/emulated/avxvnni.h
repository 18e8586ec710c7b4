// Included before the kernels of AVX-VNNI when they are compiled to be tested on a processor with
// AVX2 alone: their one instruction of their own, by AVX2's.
#pragma once

#include <immintrin.h>

namespace ruv::emulated {

// sum + Σ of four products of unsigned numbers of a and signed ones of b.
inline __m256i dot_bytes(__m256i sum, __m256i a, __m256i b) {
  const __m256i even = _mm256_madd_epi16(_mm256_and_si256(a, _mm256_set1_epi16(0xFF)),
                                         _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8));
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(a, 8), _mm256_srai_epi16(b, 8));
  return _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
}

}  // namespace ruv::emulated

#undef _mm256_dpbusd_avx_epi32
#define _mm256_dpbusd_avx_epi32(sum, a, b) ruv::emulated::dot_bytes(sum, a, b)
