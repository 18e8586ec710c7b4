// What attention over int8 pages asks of AVX-512: vpdpbusd takes the pages' offset bytes as they
// are, vpdpwssd the values widened to int16.
#pragma once

#include "kernels/x86/avx512.inc.h"

namespace ruv {
namespace {

struct Avx512Bytes : Avx512 {
  using W = __m512i;
  static constexpr int32_t kKeyOffset = 128;  // of the bytes that key_words gives

  RUV_INLINE static I set_int(int32_t x) { return _mm512_set1_epi32(x); }
  RUV_INLINE static I four_of(const int8_t* p) {
    int32_t word;
    __builtin_memcpy(&word, p, 4);
    return _mm512_set1_epi32(word);
  }
  RUV_INLINE static I two_of(const int16_t* p) {
    int32_t word;
    __builtin_memcpy(&word, p, 4);
    return _mm512_set1_epi32(word);
  }
  // Four dimensions of kLanes keys.
  RUV_INLINE static B key_words(const uint8_t* p) { return _mm512_loadu_si512(p); }
  // Not the intrinsic: gcc 12 copies its sum to another register and spills a large tile.
  RUV_INLINE static I dot_keys(I sum, B key, I q) {
#if defined(RUV_KERNELS_EMULATED)
    return _mm512_dpbusd_epi32(sum, key, q);
#else
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(key), "v"(q));
    return sum;
#endif
  }
  // Unsigned codes of four dimensions of kLanes keys.
  RUV_INLINE static I dot_codes(I sum, B codes, I q) { return dot_keys(sum, codes, q); }
  // The codes at bit kShift of every 16 bits of 32 · kLanes bits at p: two tokens each.
  template <int kShift, int kMask>
  RUV_INLINE static W code_pairs(const uint32_t* p) {
    return _mm512_and_si512(_mm512_srli_epi16(_mm512_loadu_si512(p), kShift),
                            _mm512_set1_epi16(kMask));
  }
  // Two tokens of kLanes dimensions.
  RUV_INLINE static W value_pairs(const int8_t* p) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  RUV_INLINE static I dot_values(I sum, W value, I p) {
#if defined(RUV_KERNELS_EMULATED)
    return _mm512_dpwssd_epi32(sum, value, p);
#else
    asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(value), "v"(p));
    return sum;
#endif
  }
  RUV_INLINE static void store_int16(int16_t* p, F x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(x)));
  }
};

}  // namespace
}  // namespace ruv
