// AVX-512 element-wise, reduction and attention kernels.
#include "kernels/generic/vector_table.inc.h"
#include "kernels/x86/avx512_bytes.inc.h"

namespace ruv {
namespace {

// Only where the processor has AVX512_BF16, which the table does not ask for.
[[gnu::target("avx512bf16")]] int64_t bf16_peak(int64_t rounds, float* sink) {
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
[[gnu::target("avx512bf16")]] void to_bf16(const float* x, uint16_t* out, int64_t n) {
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

constinit const Kernels kAvx512Vectors = [] {
  Kernels table = vector_table<Avx512, Avx512Bytes>("avx512");
  table.to_bf16 = to_bf16;
  table.bf16_peak = bf16_peak;
  return table;
}();

}  // namespace ruv
