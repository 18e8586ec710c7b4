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

RUV_INLINE __m256i loaded(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

// Nibbles are unsigned: a pair's products are at most 2 · 15 · 127, so that int16 holds them.
RUV_INLINE __m256i nibble_sums(__m256i nibbles, const int8_t* query, __m256i sum) {
  const __m256i pairs = _mm256_maddubs_epi16(nibbles, loaded(query));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

void dot_int4(const int8_t* query, const uint8_t* const* rows, int64_t n_rows, int64_t n,
              int32_t* out) {
  __m256i of_query = _mm256_setzero_si256();
  for (int64_t j = 0; j < n; j += 32) {
    of_query = nibble_sums(_mm256_set1_epi8(8), query + j, of_query);
  }
  const int32_t offset = sum_of(of_query);
  each_vector(rows, n_rows, n / 2, [&](const uint8_t* row, int64_t i) {
    __m256i low = _mm256_setzero_si256();
    __m256i high = _mm256_setzero_si256();
    for (int64_t j = 0; j < n; j += 64) {
      const __m256i both = loaded(row + j / 2);
      low = nibble_sums(Avx2::low_nibbles(both), query + j, low);
      high = nibble_sums(Avx2::high_nibbles(both), query + j + 32, high);
    }
    out[i] = sum_of(_mm256_add_epi32(low, high)) - offset;
  });
}

struct Avx2Gathered {
  RUV_INLINE static __m256 up(const float* table, const uint8_t* codes) {
    const __m256i from = _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                                            _mm256_set1_epi32(kCentresOfPart));
    const __m256i wide =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes)));
    return _mm256_i32gather_ps(table, _mm256_add_epi32(from, wide), 4);
  }
};

}  // namespace

constinit const DistanceKernels kAvx2Distances = [] {
  DistanceKernels table = distance_table<Avx2, Avx2Gathered>("avx2");
  table.dot_int8 = dot_int8;
  table.dot_int4 = dot_int4;
  return table;
}();

}  // namespace ruv
