// What attention over int8 pages asks of AVX-512 without VNNI: signed keys as in avx512bw.inc.h,
// values widened to int16.
#pragma once

#include "kernels/x86/avx512_bytes.inc.h"
#include "kernels/x86/avx512bw.inc.h"

namespace ruv {
namespace {

struct Avx512BwBytes : Avx512Bytes {
  static constexpr int32_t kKeyOffset = 0;

  RUV_INLINE static B key_words(const uint8_t* p) {
    return _mm512_xor_si512(_mm512_loadu_si512(p), _mm512_set1_epi8(static_cast<char>(0x80)));
  }
  RUV_INLINE static I dot_keys(I sum, B key, I q) {
    return _mm512_add_epi32(sum, Avx512Bw::sum_pairs(Avx512Bw::multiply_signed(key, q)));
  }
  RUV_INLINE static I dot_codes(I sum, B codes, I q) {
    return _mm512_add_epi32(sum, Avx512Bw::sum_pairs(_mm512_maddubs_epi16(codes, q)));
  }
  RUV_INLINE static I dot_values(I sum, W value, I p) {
    return _mm512_add_epi32(sum, _mm512_madd_epi16(value, p));
  }
};

}  // namespace
}  // namespace ruv
