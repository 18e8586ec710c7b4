// Distances by AVX-512 with VNNI and VPOPCNTDQ. Products of bytes are of unsigned ones by signed:
// rows are taken 128 higher, and the query's sum takes that back.
#include "kernels/distance_tables.h"
#include "kernels/generic/distances.inc.h"
#include "kernels/x86/avx512.inc.h"

namespace ruv {
namespace {

constexpr int kOffset = 128;

RUV_INLINE __m512i offset_bytes(const void* p) {
  return _mm512_xor_si512(_mm512_loadu_si512(p), _mm512_set1_epi8(static_cast<char>(kOffset)));
}

void dot_int8(const int8_t* query, const int8_t* const* rows, int64_t n_rows, int64_t n,
              int32_t* out) {
  __m512i of_query = _mm512_setzero_si512();
  for (int64_t j = 0; j < n; j += 64) {
    of_query = _mm512_dpbusd_epi32(of_query, _mm512_set1_epi8(1), _mm512_loadu_si512(query + j));
  }
  const int32_t offset = kOffset * _mm512_reduce_add_epi32(of_query);
  each_vector(rows, n_rows, n, [&](const int8_t* row, int64_t i) {
    __m512i even = _mm512_setzero_si512();
    __m512i odd = _mm512_setzero_si512();
    int64_t j = 0;
    for (; j + 128 <= n; j += 128) {
      even = _mm512_dpbusd_epi32(even, offset_bytes(row + j), _mm512_loadu_si512(query + j));
      odd =
          _mm512_dpbusd_epi32(odd, offset_bytes(row + j + 64), _mm512_loadu_si512(query + j + 64));
    }
    if (j < n)
      even = _mm512_dpbusd_epi32(even, offset_bytes(row + j), _mm512_loadu_si512(query + j));
    out[i] = _mm512_reduce_add_epi32(_mm512_add_epi32(even, odd)) - offset;
  });
}

void hamming(const uint8_t* query, const uint8_t* const* rows, int64_t n_rows, int64_t n,
             int32_t* out) {
  each_vector(rows, n_rows, n, [&](const uint8_t* row, int64_t i) {
    __m512i sum = _mm512_setzero_si512();
    for (int64_t j = 0; j < n; j += 64) {
      const auto in_words = static_cast<__mmask8>(n - j >= 64 ? 0xFF : (1U << ((n - j) / 8)) - 1);
      const __m512i differ = _mm512_xor_si512(_mm512_maskz_loadu_epi64(in_words, query + j),
                                              _mm512_maskz_loadu_epi64(in_words, row + j));
      sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(differ));
    }
    out[i] = static_cast<int32_t>(_mm512_reduce_add_epi64(sum));
  });
}

void dot_int4(const int8_t* query, const uint8_t* const* rows, int64_t n_rows, int64_t n,
              int32_t* out) {
  __m512i of_query = _mm512_setzero_si512();
  for (int64_t j = 0; j < n; j += 64) {
    of_query = _mm512_dpbusd_epi32(of_query, _mm512_set1_epi8(8), _mm512_loadu_si512(query + j));
  }
  const int32_t offset = _mm512_reduce_add_epi32(of_query);
  const __m512i low = _mm512_set1_epi8(15);
  each_vector(rows, n_rows, n / 2, [&](const uint8_t* row, int64_t i) {
    __m512i sum = _mm512_setzero_si512();
    for (int64_t j = 0; j < n; j += 64) {
      const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + j / 2));
      const __m512i nibbles = _mm512_and_si512(
          _mm512_inserti64x4(_mm512_castsi256_si512(both), _mm256_srli_epi16(both, 4), 1), low);
      sum = _mm512_dpbusd_epi32(sum, nibbles, _mm512_loadu_si512(query + j));
    }
    out[i] = _mm512_reduce_add_epi32(sum) - offset;
  });
}

struct Avx512Gathered {
  RUV_INLINE static __m512 up(const float* table, const uint8_t* codes) {
    const __m512i from =
        _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                           _mm512_set1_epi32(kCentresOfPart));
    const __m512i wide =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
    return _mm512_i32gather_ps(_mm512_add_epi32(from, wide), table, 4);
  }
};

}  // namespace

constinit const DistanceKernels kAvx512Distances = [] {
  DistanceKernels table = distance_table<Avx512, Avx512Gathered>("avx512");
  table.dot_int8 = dot_int8;
  table.dot_int4 = dot_int4;
  table.hamming = hamming;
  return table;
}();

}  // namespace ruv
