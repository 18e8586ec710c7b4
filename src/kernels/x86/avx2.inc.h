// The AVX2 vector policy: 8 lanes. Needs AVX2, FMA and F16C. Unsigned codes times signed bytes add
// up in int16 (vpmaddubsw) for as many words as cannot overflow, then widen; signed weight bytes go
// through |w| · (a with the sign of w), whose pairs stay within 2 · 128 · 127.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/generic/tile.inc.h"
#include "kernels/kernels.h"

namespace ruv {
namespace {

struct Avx2 {
  static constexpr int kLanes = 8;
  static constexpr int kTileRows = 4;
  // Zen 3: 8 KiB and more cost 5 to 15 % of a decode step.
  static constexpr int prefetch_bytes(int block_vectors) { return block_vectors < 8 ? 3072 : 1536; }
  static constexpr int kFloatPrefetch = 1024;  // 8192 costs 15 %
  static constexpr int kFloatTileRows = 3;
  static constexpr int kFloatDirectRows = 2;
  static constexpr int kPageRows = 6;
  static constexpr int kPageSums = 12;
  static constexpr int kPanelFromRows = 9;
  static constexpr int kPanelBlocks = 32;
  static constexpr int kPanelRows = 3;
  static constexpr int kPanelRowsTwoScales = 3;
  static constexpr bool kPrefetchesRows = false;    // the hardware does; asking costs 6 % (Zen 3)
  static constexpr int64_t kFloatPanelSteps = 192;  // 24 of 32 KiB
  static constexpr int kFloatStepsAtOnce = 8;
  static constexpr bool kFloatPrefetchesRows = true;  // 512 rows, K = 8192: 1.13 as fast
  static constexpr int kByteStepsAtOnce = 2;
  static constexpr bool kWidensPages = true;
  static constexpr bool kPairSums = true;  // panels by x86/pair_panel.inc.h
  static constexpr int kByteMax = 0;
  static constexpr int kByteOffset = 0;
  using F = __m256;
  using I = __m256i;
  using B = __m256i;

  RUV_INLINE static F zero() { return _mm256_setzero_ps(); }
  RUV_INLINE static F set(float x) { return _mm256_set1_ps(x); }
  RUV_INLINE static F load(const float* p) { return _mm256_loadu_ps(p); }
  RUV_INLINE static void store(float* p, F x) { _mm256_storeu_ps(p, x); }
  RUV_INLINE static F add(F a, F b) { return _mm256_add_ps(a, b); }
  RUV_INLINE static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  RUV_INLINE static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  RUV_INLINE static F div(F a, F b) { return _mm256_div_ps(a, b); }
  RUV_INLINE static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  // Both return b where a or b is NaN.
  RUV_INLINE static F max(F a, F b) { return _mm256_max_ps(a, b); }
  RUV_INLINE static F min(F a, F b) { return _mm256_min_ps(a, b); }
  RUV_INLINE static F abs(F x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), x); }
  RUV_INLINE static F round(F x) {
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  RUV_INLINE static F with_sign_of(F magnitude, F x) {
    return _mm256_or_ps(magnitude, _mm256_and_ps(x, _mm256_set1_ps(-0.0F)));
  }
  // value where x >= limit or x is NaN, else 0.
  RUV_INLINE static F zero_below(F value, F x, F limit) {
    return _mm256_and_ps(_mm256_cmp_ps(x, limit, _CMP_NLT_UQ), value);
  }
  // 2^n for integral n in [-126, 127].
  RUV_INLINE static F power_of_two(F n) {
    const __m256i e = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(e, 23));
  }
  // Folded in halves.
  RUV_INLINE static float sum(F x) {
    const __m128 z = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 u = _mm_add_ps(z, _mm_movehl_ps(z, z));
    return _mm_cvtss_f32(_mm_add_ss(u, _mm_movehdup_ps(u)));
  }
  RUV_INLINE static float greatest(F x) {
    const __m128 z = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 u = _mm_max_ps(z, _mm_movehl_ps(z, z));
    return _mm_cvtss_f32(_mm_max_ss(u, _mm_movehdup_ps(u)));
  }

  RUV_INLINE static F load_f16(const void* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(p)));
  }
  RUV_INLINE static void store_f16(uint16_t* p, F x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  RUV_INLINE static F load_bf16(const void* p) {
    const __m128i bits = _mm_loadu_si128(static_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  RUV_INLINE static void store_int8(int8_t* p, F x) {
    const __m256i i = _mm256_cvtps_epi32(x);
    const __m128i w = _mm_packs_epi32(_mm256_castsi256_si128(i), _mm256_extracti128_si256(i, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(w, w));
  }
  // Σ of 16 int8.
  RUV_INLINE static int sum_int8_16(const int8_t* p) {
    const __m128i q = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)),
                                    _mm_set1_epi8(static_cast<char>(0x80)));
    const __m128i s = _mm_sad_epu8(q, _mm_setzero_si128());
    return _mm_cvtsi128_si32(s) + _mm_extract_epi16(s, 4) - 16 * 128;
  }

  RUV_INLINE static B load_bytes(const std::byte* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  RUV_INLINE static B or_(B a, B b) { return _mm256_or_si256(a, b); }
  RUV_INLINE static B low_nibbles(B x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
  RUV_INLINE static B high_nibbles(B x) {
    return _mm256_and_si256(_mm256_srli_epi16(x, 4), _mm256_set1_epi8(15));
  }
  // kWeight in every byte whose bit kBit is set.
  template <int kBit, int kWeight>
  RUV_INLINE static B bit(B x) {
    return shifted<kBit, kWeight, 1>(x);
  }
  // Bits kBit, kBit+1 of every byte, shifted to kShift.
  template <int kBit, int kShift>
  RUV_INLINE static B pair(B x) {
    return shifted<kBit, 1 << kShift, 3>(x);
  }
  RUV_INLINE static B iq4_values(B index) {
    const __m128i table =
        _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), index);
  }

  // Levels::kLevels[index]. Requires: indices below 16.
  template <class Levels>
  RUV_INLINE static B look_up(B index) {
    const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(Levels::kLevels));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), index);
  }

  // Every lane's byte, moved up, as the bits of a float32.
  template <int kShift>
  RUV_INLINE static F from_bits(const std::byte* p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu8_epi32(lane_bytes(p)), kShift));
  }
  // Every lane's byte as a sign and, moved up, seven bits of a float32.
  template <int kShift>
  RUV_INLINE static F from_float8(const std::byte* p) {
    const __m256i x = _mm256_slli_epi32(_mm256_cvtepi8_epi32(lane_bytes(p)), kShift);
    const auto kept = static_cast<int>(0x80000000U | 0x7FU << kShift);
    return _mm256_castsi256_ps(_mm256_and_si256(x, _mm256_set1_epi32(kept)));
  }
  // Levels::kLevels[the nibble at bit `at` of every lane's byte].
  template <class Levels>
  RUV_INLINE static F look_up_floats(const std::byte* p, int at) {
    const __m256i x = _mm256_srli_epi32(_mm256_cvtepu8_epi32(lane_bytes(p)), at);
    const F low = _mm256_permutevar8x32_ps(load(Levels::kLevels), x);
    const F high = _mm256_permutevar8x32_ps(load(Levels::kLevels + 8), x);
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(x, 28)));
  }
  RUV_INLINE static F from_int(I x) { return _mm256_cvtepi32_ps(x); }
  RUV_INLINE static F from_u8(const std::byte* p) {
    return from_int(_mm256_cvtepu8_epi32(lane_bytes(p)));
  }
  RUV_INLINE static F from_s8(const std::byte* p) {
    return from_int(_mm256_cvtepi8_epi32(lane_bytes(p)));
  }
  // The nibble at bit `at` of every lane's byte.
  RUV_INLINE static F from_u4(const std::byte* p, int at) {
    const __m256i x = _mm256_srli_epi32(_mm256_cvtepu8_epi32(lane_bytes(p)), at);
    return from_int(_mm256_and_si256(x, _mm256_set1_epi32(15)));
  }
  // Nibble at bit low_at of p plus 16 times the pair at bit high_at of q.
  RUV_INLINE static F from_six_bits(const std::byte* p, int low_at, const std::byte* q,
                                    int high_at) {
    const __m256i low = _mm256_srli_epi32(_mm256_cvtepu8_epi32(lane_bytes(p)), low_at);
    const __m256i high = _mm256_srli_epi32(_mm256_cvtepu8_epi32(lane_bytes(q)), high_at);
    return from_int(
        _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi32(15)),
                        _mm256_slli_epi32(_mm256_and_si256(high, _mm256_set1_epi32(3)), 4)));
  }

  // kFirst · sums[0] + kSecond · sums[1] in every lane.
  template <int kFirst, int kSecond>
  RUV_INLINE static I weigh_sums(const int16_t* sums) {
    if constexpr (kFirst == 0 && kSecond == 0) return _mm256_setzero_si256();
    const int weights = static_cast<int>((static_cast<uint32_t>(kSecond) << 16) |
                                         (static_cast<uint32_t>(kFirst) & 0xFFFFU));
    return _mm256_madd_epi16(four_bytes(sums), _mm256_set1_epi32(weights));
  }
  // start + Σ words [kBegin, kEnd) of the block. Exact.
  template <int kMax, int kBegin, int kEnd>
  RUV_INLINE static I dot(I start, const B* codes, const int8_t* q) {
    const __m256i ones = _mm256_set1_epi16(1);
    if constexpr (kMax == 0) {
      RUV_UNROLL
      for (int j = kBegin; j < kEnd; ++j) {
        const __m256i a = _mm256_sign_epi8(four_bytes(q + 4 * j), codes[j]);
        const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(codes[j]), a);
        start = _mm256_add_epi32(start, _mm256_madd_epi16(pairs, ones));
      }
    } else {
      constexpr int kSafe = 32767 / (kMax * 2 * 128);  // words whose int16 sum cannot overflow
      constexpr int kStep = kSafe < kEnd - kBegin ? kSafe : kEnd - kBegin;
      RUV_UNROLL
      for (int j = kBegin; j < kEnd; j += kStep) {
        __m256i pairs = _mm256_maddubs_epi16(codes[j], four_bytes(q + 4 * j));
        RUV_UNROLL
        for (int i = 1; i < kStep; ++i) {
          if (j + i >= kEnd) break;
          const __m256i more = _mm256_maddubs_epi16(codes[j + i], four_bytes(q + 4 * (j + i)));
          pairs = add_pairs(pairs, more);
        }
        start = _mm256_add_epi32(start, _mm256_madd_epi16(pairs, ones));
      }
    }
    return start;
  }

  // Products of four codes of every lane with the same four activations, added in pairs to int16.
  RUV_INLINE static I multiply_pairs(B codes, B four) { return _mm256_maddubs_epi16(codes, four); }
  // The empty statement keeps a chain a chain: the compilers balance sums of integers into trees
  // that need more registers than there are.
  RUV_INLINE static I add_pairs(I a, I b) {
    I sum = _mm256_add_epi16(a, b);
    asm("" : "+x"(sum));
    return sum;
  }
  // Σ of the two int16 of every lane.
  RUV_INLINE static I sum_pairs(I pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }
  RUV_INLINE static I add_ints(I a, I b) { return _mm256_add_epi32(a, b); }
  RUV_INLINE static B four_bytes(const void* p) {
    int word;
    __builtin_memcpy(&word, p, 4);
    return _mm256_set1_epi32(word);
  }

  static int64_t int8_peak(int64_t rounds, int32_t* sink) {
    I acc[8];
    for (int i = 0; i < 8; ++i) acc[i] = _mm256_set1_epi32(*sink + i);
    const I a = _mm256_set1_epi32(*sink | 0x01020304);
    for (int64_t round = 0; round < rounds; ++round) {
      RUV_UNROLL
      for (int i = 0; i < 8; ++i) {
        I pairs;  // as an intrinsic it would be computed once
        asm volatile("vpmaddubsw %1, %1, %0" : "=x"(pairs) : "x"(a));
        acc[i] = _mm256_add_epi16(acc[i], pairs);
      }
    }
    for (int i = 0; i < 8; ++i) *sink ^= _mm256_extract_epi32(acc[i], 0);
    return rounds * 8 * 32;
  }

  static uint64_t sum_words(const uint64_t* words, int64_t n) {
    I acc[4] = {};
    for (int64_t i = 0; i < n; i += 4 * 4) {
      RUV_UNROLL
      for (int j = 0; j < 4; ++j) {
        const uint64_t* p = words + i + j * 4;
        acc[j] = _mm256_add_epi64(acc[j], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
      }
    }
    uint64_t lanes[4];
    const I sum =
        _mm256_add_epi64(_mm256_add_epi64(acc[0], acc[1]), _mm256_add_epi64(acc[2], acc[3]));
    __builtin_memcpy(lanes, &sum, sizeof lanes);
    uint64_t total = 0;
    for (int i = 0; i < 4; ++i) total += lanes[i];
    return total;
  }

 private:
  RUV_INLINE static __m128i lane_bytes(const std::byte* p) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  }
  // (byte >> kBit & mask) · kWeight; bits that cross bytes in the 16-bit shift are masked off.
  template <int kBit, int kWeight, int kMask>
  RUV_INLINE static B shifted(B x) {
    constexpr int kUp = __builtin_ctz(kWeight) - kBit;
    if constexpr (kUp > 0) {
      x = _mm256_slli_epi16(x, kUp);
    } else if constexpr (kUp < 0) {
      x = _mm256_srli_epi16(x, -kUp);
    }
    return _mm256_and_si256(x, _mm256_set1_epi8(static_cast<char>(kMask * kWeight)));
  }
};

// For signed codes, whose products fill int16, so that each word widens. A panel saves unpacking,
// and the magnitudes of a word serve all rows of a tile.
struct Avx2Signed : Avx2 {
  static constexpr bool kPairSums = false;
  static constexpr int kPanelRows = 4;

  // dot += the products of words [kBegin, kEnd) of a block. Exact.
  template <int kBegin, int kEnd, int G, int R>
  RUV_INLINE static void add_products(const B (&codes)[8][G], const ActBlock* const* a,
                                      I (&dot)[G][R]) {
    RUV_UNROLL
    for (int j = kBegin; j < kEnd; ++j) {
      RUV_UNROLL
      for (int g = 0; g < G; ++g) {
        const B magnitude = _mm256_abs_epi8(codes[j][g]);
        RUV_UNROLL
        for (int r = 0; r < R; ++r) {
          const B four = _mm256_sign_epi8(four_bytes(a[r]->q + 4 * j), codes[j][g]);
          dot[g][r] = add_ints(dot[g][r], sum_pairs(multiply_pairs(magnitude, four)));
          asm("" : "+x"(dot[g][r]));  // as in add_pairs
        }
      }
    }
  }
};

}  // namespace
}  // namespace ruv
