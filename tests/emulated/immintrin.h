// Stands before the compiler's own <immintrin.h> when the kernels of AVX-512 are compiled to be
// tested on a processor without it: SIMDe's portable functions, and those that its version 0.7.4
// lacks. Emulated instructions say nothing about speed.
#pragma once

#define SIMDE_NO_NATIVE
#define SIMDE_NO_INLINE  // kernels that inline everything would take hours to compile
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/avx512/dpbf16.h>
#include <simde/x86/f16c.h>
#include <simde/x86/fma.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#include "tensor/half.h"

#undef _mm512_madd_epi16
#define _mm512_madd_epi16(a, b) simde_mm512_madd_epi16(a, b)

#ifndef _MM_FROUND_NO_EXC
#define _MM_FROUND_NO_EXC 0x08
#endif

using __mmask8 = uint8_t;
using __mmask16 = uint16_t;

namespace ruv::emulated {

// A vector of To, whose n numbers are f of the numbers of a vector.
template <class To, class Out, class In, int n, class From, class F>
inline To map(const From& from, F f) {
  In in[n];
  Out out[n];
  static_assert(sizeof in <= sizeof from && sizeof out <= sizeof(To));
  std::memcpy(in, &from, sizeof in);
  for (int i = 0; i < n; ++i) out[i] = f(in[i]);
  To to{};
  std::memcpy(&to, out, sizeof out);
  return to;
}

template <class In, int n, class From, class F>
inline In reduce(const From& from, F f) {
  In in[n];
  std::memcpy(in, &from, sizeof in);
  for (int half = n / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) in[i] = f(in[i], in[i + half]);
  }
  return in[0];
}

template <class To, class Number>
inline To load_part(uint32_t mask, const void* from, int n) {
  Number numbers[sizeof(To) / sizeof(Number)] = {};
  for (int i = 0; i < n; ++i) {
    if ((mask >> i & 1) != 0) {
      std::memcpy(numbers + i, static_cast<const Number*>(from) + i, sizeof(Number));
    }
  }
  To to;
  std::memcpy(&to, numbers, sizeof to);
  return to;
}

// To the nearest, halves to the even one; what does not fit is the smallest number.
inline int32_t rounded(float x) {
  return x >= -0x1p31F && x < 0x1p31F ? static_cast<int32_t>(std::lrintf(x)) : INT32_MIN;
}

}  // namespace ruv::emulated

inline __m512i _mm512_cvtepu8_epi32(__m128i x) {
  return ruv::emulated::map<__m512i, int32_t, uint8_t, 16>(x, [](uint8_t v) { return int32_t{v}; });
}
inline __m512i _mm512_cvtepi8_epi32(__m128i x) {
  return ruv::emulated::map<__m512i, int32_t, int8_t, 16>(x, [](int8_t v) { return int32_t{v}; });
}
inline __m512i _mm512_cvtepu16_epi32(__m256i x) {
  return ruv::emulated::map<__m512i, int32_t, uint16_t, 16>(x,
                                                            [](uint16_t v) { return int32_t{v}; });
}
inline __m256i _mm512_cvtepi32_epi16(__m512i x) {
  return ruv::emulated::map<__m256i, int16_t, int32_t, 16>(
      x, [](int32_t v) { return static_cast<int16_t>(v); });
}
inline __m512i _mm512_cvtps_epi32(__m512 x) {
  return ruv::emulated::map<__m512i, int32_t, float, 16>(x, ruv::emulated::rounded);
}
inline __m512 _mm512_cvtepi32_ps(__m512i x) {
  return ruv::emulated::map<__m512, float, int32_t, 16>(
      x, [](int32_t v) { return static_cast<float>(v); });
}
inline __m512 _mm512_cvtph_ps(__m256i x) {
  return ruv::emulated::map<__m512, float, uint16_t, 16>(x, ruv::f32_from_f16);
}
inline __m256i _mm512_cvtps_ph(__m512 x, int) {
  return ruv::emulated::map<__m256i, uint16_t, float, 16>(x, ruv::f16_from_f32);
}
inline __m256 _mm512_extractf32x8_ps(__m512 x, int half) {
  float all[16];
  std::memcpy(all, &x, sizeof all);
  return simde_mm256_loadu_ps(all + half * 8);
}
// SIMDe's rounds twice.
#undef _mm512_fmadd_ps
inline __m512 _mm512_fmadd_ps(__m512 a, __m512 b, __m512 c) {
  float x[3][16];
  std::memcpy(x[0], &a, sizeof a);
  std::memcpy(x[1], &b, sizeof b);
  std::memcpy(x[2], &c, sizeof c);
  for (int i = 0; i < 16; ++i) x[2][i] = std::fma(x[0][i], x[1][i], x[2][i]);
  std::memcpy(&c, x[2], sizeof c);
  return c;
}
inline float _mm512_reduce_max_ps(__m512 x) {
  return ruv::emulated::reduce<float, 16>(x, [](float a, float b) { return a > b ? a : b; });
}
inline float _mm512_reduce_add_ps(__m512 x) {
  return ruv::emulated::reduce<float, 16>(x, [](float a, float b) { return a + b; });
}
inline int32_t _mm512_reduce_add_epi32(__m512i x) {
  return ruv::emulated::reduce<int32_t, 16>(x, [](int32_t a, int32_t b) { return a + b; });
}
inline int64_t _mm512_reduce_add_epi64(__m512i x) {
  return ruv::emulated::reduce<int64_t, 8>(x, [](int64_t a, int64_t b) { return a + b; });
}
inline __m512 _mm512_maskz_loadu_ps(__mmask16 mask, const void* from) {
  return ruv::emulated::load_part<__m512, float>(mask, from, 16);
}
inline __m512i _mm512_maskz_loadu_epi64(__mmask8 mask, const void* from) {
  return ruv::emulated::load_part<__m512i, int64_t>(mask, from, 8);
}
inline __m512 _mm512_i32gather_ps(__m512i places, const void* from, int scale) {
  return ruv::emulated::map<__m512, float, int32_t, 16>(places, [=](int32_t place) {
    float number;
    std::memcpy(&number, static_cast<const char*>(from) + int64_t{place} * scale, sizeof number);
    return number;
  });
}

// Rounded to bf16 as the instruction does it: subnormal numbers become zero.
namespace ruv::emulated {
inline uint16_t to_bf16(float x) {
  return bf16_from_f32(std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x);
}
}  // namespace ruv::emulated

inline __m256bh _mm512_cvtneps_pbh(__m512 x) {
  return ruv::emulated::map<__m256bh, uint16_t, float, 16>(x, ruv::emulated::to_bf16);
}
inline __m512bh _mm512_cvtne2ps_pbh(__m512 high, __m512 low) {
  const __m256bh halves[] = {_mm512_cvtneps_pbh(low), _mm512_cvtneps_pbh(high)};
  __m512bh both;
  std::memcpy(&both, halves, sizeof both);
  return both;
}
