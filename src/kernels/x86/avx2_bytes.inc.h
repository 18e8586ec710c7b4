// What attention over int8 pages asks of AVX2. Signed keys go through |key| · (q with the sign of
// the key): pairs stay within 2 · 128 · 127, inside int16.
#pragma once

#include "kernels/x86/avx2.inc.h"

namespace ruv {
namespace {

struct Avx2Bytes : Avx2 {
  using W = __m256i;
  static constexpr int32_t kKeyOffset = 0;

  RUV_INLINE static I set_int(int32_t x) { return _mm256_set1_epi32(x); }
  RUV_INLINE static I four_of(const int8_t* p) {
    int32_t word;
    __builtin_memcpy(&word, p, 4);
    return _mm256_set1_epi32(word);
  }
  RUV_INLINE static I two_of(const int16_t* p) {
    int32_t word;
    __builtin_memcpy(&word, p, 4);
    return _mm256_set1_epi32(word);
  }
  RUV_INLINE static B key_words(const uint8_t* p) {
    return _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
                            _mm256_set1_epi8(static_cast<char>(0x80)));
  }
  // The empty statement keeps a sum in its register: g++ 12 stores copies of sums in memory else.
  RUV_INLINE static I add_in_place(I sum, I more) {
    sum = _mm256_add_epi32(sum, more);
    asm("" : "+x"(sum));
    return sum;
  }
  RUV_INLINE static I dot_keys(I sum, B key, I q) {
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(key), _mm256_sign_epi8(q, key));
    return add_in_place(sum, sum_pairs(pairs));
  }
  RUV_INLINE static I dot_codes(I sum, B codes, I q) {
    const __m256i pairs = _mm256_maddubs_epi16(codes, q);
    return add_in_place(sum, sum_pairs(pairs));
  }
  template <int kShift, int kMask>
  RUV_INLINE static W code_pairs(const uint32_t* p) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm256_and_si256(_mm256_srli_epi16(x, kShift), _mm256_set1_epi16(kMask));
  }
  RUV_INLINE static W value_pairs(const int8_t* p) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  // Values that value_pairs made. The empty statement makes one load of it for all rows.
  RUV_INLINE static W wide_pairs(const std::byte* p) {
    W x = load_bytes(p);
    asm("" : "+x"(x));
    return x;
  }
  RUV_INLINE static void store_wide_pairs(std::byte* p, W x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x);
  }
  RUV_INLINE static I dot_values(I sum, W value, I p) {
    return add_in_place(sum, _mm256_madd_epi16(value, p));
  }
  RUV_INLINE static void store_int16(int16_t* p, F x) {
    const __m256i i = _mm256_cvtps_epi32(x);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm_packs_epi32(_mm256_castsi256_si128(i), _mm256_extracti128_si256(i, 1)));
  }
};

}  // namespace
}  // namespace ruv
