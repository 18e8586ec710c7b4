// Distances by AVX2. Bytes are widened to pairs of int16, whose products are exact.
#include "kernels/distance_tables.h"
#include "kernels/generic/distances.inc.h"
#include "kernels/x86/avx2.inc.h"

namespace ruv {
namespace {

RUV_INLINE __m256i widened(const int8_t* p) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

RUV_INLINE int32_t sum_of(__m256i x) {
  const __m128i y = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  const __m128i z = _mm_add_epi32(y, _mm_shuffle_epi32(y, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(z, _mm_shuffle_epi32(z, 0xB1)));
}

void dot_int8(const int8_t* query, const int8_t* const* rows, int64_t n_rows, int64_t n,
              int32_t* out) {
  each_vector(rows, n_rows, n, [&](const int8_t* row, int64_t i) {
    __m256i sums[4] = {};
    for (int64_t j = 0; j < n; j += 64) {
      RUV_UNROLL
      for (int v = 0; v < 4; ++v) {
        const __m256i pairs =
            _mm256_madd_epi16(widened(query + j + 16 * v), widened(row + j + 16 * v));
        sums[v] = _mm256_add_epi32(sums[v], pairs);
      }
    }
    out[i] = sum_of(
        _mm256_add_epi32(_mm256_add_epi32(sums[0], sums[1]), _mm256_add_epi32(sums[2], sums[3])));
  });
}

}  // namespace

constinit const DistanceKernels kAvx2Distances = [] {
  DistanceKernels table = distance_table<Avx2>("avx2");
  table.dot_int8 = dot_int8;
  return table;
}();

}  // namespace ruv
