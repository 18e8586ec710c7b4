// The vector policy of AVX-512 without VNNI (F, BW, VL, DQ). Products of bytes as on AVX2: unsigned
// codes add up in int16 for as many words as cannot overflow, then widen; signed weight bytes go
// through |w| · (a with the sign of w), whose pairs stay within 2 · 128 · 127.
#pragma once

#include "kernels/x86/avx512.inc.h"

namespace ruv {
namespace {

struct Avx512Bw : Avx512 {
  static constexpr int kPanelFromRows = 16;
  static constexpr int kPanelRows = 4;
  static constexpr int kPanelRowsTwoScales = 3;
  static constexpr bool kPairSums = true;  // panels by x86/pair_panel.inc.h
  static constexpr int kByteMax = 0;
  static constexpr int kByteOffset = 0;

  RUV_INLINE static B iq4_values(B index) {
    return _mm512_xor_si512(Avx512::iq4_values(index), _mm512_set1_epi8(static_cast<char>(0x80)));
  }
  // kFirst · sums[0] + kSecond · sums[1] in every lane.
  template <int kFirst, int kSecond>
  RUV_INLINE static I weigh_sums(const int16_t* sums) {
    if constexpr (kFirst == 0 && kSecond == 0) return _mm512_setzero_si512();
    const int weights = static_cast<int>((static_cast<uint32_t>(kSecond) << 16) |
                                         (static_cast<uint32_t>(kFirst) & 0xFFFFU));
    return _mm512_madd_epi16(four_bytes(sums), _mm512_set1_epi32(weights));
  }
  // start + Σ words [kBegin, kEnd) of the block. Exact.
  template <int kMax, int kBegin, int kEnd>
  RUV_INLINE static I dot(I start, const B* codes, const int8_t* q) {
    if constexpr (kMax == 0) {
      RUV_UNROLL
      for (int j = kBegin; j < kEnd; ++j) {
        const I pairs = multiply_signed(codes[j], four_bytes(q + 4 * j));
        start = _mm512_add_epi32(start, sum_pairs(pairs));
      }
    } else {
      constexpr int kSafe = 32767 / (kMax * 2 * 128);  // words whose int16 sum cannot overflow
      constexpr int kStep = kSafe < kEnd - kBegin ? kSafe : kEnd - kBegin;
      static_assert((kEnd - kBegin) % kStep == 0);
      RUV_UNROLL
      for (int j = kBegin; j < kEnd; j += kStep) {
        I pairs = multiply_pairs(codes[j], four_bytes(q + 4 * j));
        RUV_UNROLL
        for (int i = 1; i < kStep; ++i) {
          pairs = add_pairs(pairs, multiply_pairs(codes[j + i], four_bytes(q + 4 * (j + i))));
        }
        start = _mm512_add_epi32(start, sum_pairs(pairs));
      }
    }
    return start;
  }
  // Products of four codes of every lane with the same four activations, added in pairs to int16.
  RUV_INLINE static I multiply_pairs(B codes, B four) { return _mm512_maddubs_epi16(codes, four); }
  RUV_INLINE static I multiply_signed(B codes, B four) {
    const I a =
        _mm512_mask_sub_epi8(four, _mm512_movepi8_mask(codes), _mm512_setzero_si512(), four);
    return _mm512_maddubs_epi16(_mm512_abs_epi8(codes), a);
  }
  // The empty statement keeps a chain a chain: the compilers balance sums of integers into trees
  // that need more registers than there are.
  RUV_INLINE static I add_pairs(I a, I b) {
    I sum = _mm512_add_epi16(a, b);
#if !defined(RUV_KERNELS_EMULATED)
    asm("" : "+v"(sum));
#endif
    return sum;
  }
  // Σ of the two int16 of every lane.
  RUV_INLINE static I sum_pairs(I pairs) { return _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)); }
  RUV_INLINE static I add_ints(I a, I b) { return _mm512_add_epi32(a, b); }

  static int64_t int8_peak(int64_t rounds, int32_t* sink) {
    I acc[8];
    for (int i = 0; i < 8; ++i) acc[i] = _mm512_set1_epi32(*sink + i);
    const I a = _mm512_set1_epi32(*sink | 0x01020304);
    for (int64_t round = 0; round < rounds; ++round) {
      RUV_UNROLL
      for (int i = 0; i < 8; ++i) acc[i] = add_pairs(acc[i], multiply_pairs(a, acc[i]));
    }
    for (int i = 0; i < 8; ++i) *sink ^= _mm512_reduce_add_epi32(acc[i]);
    return rounds * 8 * 64;
  }
};

// For signed codes: products of int8 fill int16, so sums gain nothing from panels.
struct Avx512BwTiles : Avx512Bw {
  static constexpr int kPanelFromRows = 0;
};

}  // namespace
}  // namespace ruv
