// The AVX-VNNI vector policy: AVX2 with dot products of four bytes (VEX vpdpbusd). As on AVX-512,
// weight bytes are unsigned: q8_0 is packed with +128, and IQ4's table holds value + 128.
#pragma once

#include "kernels/x86/avx2.inc.h"

namespace ruv {
namespace {

struct AvxVnni : Avx2 {
  static constexpr int kPanelFromRows = 16;
  static constexpr int kPanelRows = 3;
  static constexpr int kPanelRowsTwoScales = 4;
  static constexpr bool kPairSums = false;
  static constexpr int kByteMax = 255;
  static constexpr int kByteOffset = 128;

  RUV_INLINE static B iq4_values(B index) {
    return _mm256_xor_si256(Avx2::iq4_values(index), _mm256_set1_epi8(static_cast<char>(0x80)));
  }
  // start + Σ words [kBegin, kEnd) of the block. Exact.
  template <int kMax, int kBegin, int kEnd>
  RUV_INLINE static I dot(I start, const B* codes, const int8_t* q) {
    RUV_UNROLL
    for (int j = kBegin; j < kEnd; ++j) start = dot_four(start, codes[j], four_bytes(q + 4 * j));
    return start;
  }
  // acc + the products of four codes of every lane with the same four activations. Exact.
  RUV_INLINE static I dot_four(I acc, B codes, B four) {
    return _mm256_dpbusd_avx_epi32(acc, codes, four);
  }

  static int64_t int8_peak(int64_t rounds, int32_t* sink) {
    I acc[8];
    for (int i = 0; i < 8; ++i) acc[i] = _mm256_set1_epi32(*sink + i);
    const I a = _mm256_set1_epi32(*sink | 0x01020304);
    for (int64_t round = 0; round < rounds; ++round) {
      RUV_UNROLL
      for (int i = 0; i < 8; ++i) acc[i] = dot_four(acc[i], a, acc[i]);
    }
    for (int i = 0; i < 8; ++i) *sink ^= _mm256_extract_epi32(acc[i], 0);
    return rounds * 8 * 32;
  }
};

}  // namespace
}  // namespace ruv
