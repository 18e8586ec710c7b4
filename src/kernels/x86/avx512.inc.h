// The AVX-512 vector policy: 16 lanes. Needs F, BW, VL, DQ and VNNI. Weight bytes are unsigned, as
// vpdpbusd wants them: q8_0 is packed with +128, and IQ4's table holds value + 128.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/generic/tile.inc.h"

namespace ruv {
namespace {

struct Avx512 {
  static constexpr int kLanes = 16;
  static constexpr int kTileRows = 8;
  static constexpr int kFloatTileRows = 6;
  static constexpr int kFloatDirectRows = 4;
  static constexpr int kPageRows = 6;
  static constexpr int kPageSums = 24;
  static constexpr int prefetch_bytes(int block_vectors) { return 65536 / block_vectors; }
  static constexpr int kFloatPrefetch = 8192;
  static constexpr int64_t kFloatPanelSteps = 128;
  static constexpr int kFloatStepsAtOnce = 1;
  static constexpr bool kFloatPrefetchesRows = false;
  static constexpr int kByteStepsAtOnce = 1;
  static constexpr bool kWidensPages = false;
  static constexpr int kPanelFromRows = 40;
  static constexpr int kPanelBlocks = 16;
  static constexpr bool kPrefetchesRows = true;
  static constexpr int kPanelRows = 6;
  static constexpr int kPanelRowsTwoScales = 4;
  static constexpr int kByteMax = 255;
  static constexpr int kByteOffset = 128;
  using F = __m512;
  using I = __m512i;
  using B = __m512i;

  RUV_INLINE static F zero() { return _mm512_setzero_ps(); }
  RUV_INLINE static F set(float x) { return _mm512_set1_ps(x); }
  RUV_INLINE static F load(const float* p) { return _mm512_loadu_ps(p); }
  RUV_INLINE static void store(float* p, F x) { _mm512_storeu_ps(p, x); }
  RUV_INLINE static F add(F a, F b) { return _mm512_add_ps(a, b); }
  RUV_INLINE static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  RUV_INLINE static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  RUV_INLINE static F div(F a, F b) { return _mm512_div_ps(a, b); }
  RUV_INLINE static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  // Both return b where a or b is NaN.
  RUV_INLINE static F max(F a, F b) { return _mm512_max_ps(a, b); }
  RUV_INLINE static F min(F a, F b) { return _mm512_min_ps(a, b); }
  RUV_INLINE static F abs(F x) { return _mm512_abs_ps(x); }
  RUV_INLINE static F round(F x) {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  RUV_INLINE static F with_sign_of(F magnitude, F x) {
    return _mm512_or_ps(magnitude, _mm512_and_ps(x, _mm512_set1_ps(-0.0F)));
  }
  // value where x >= limit or x is NaN, else 0.
  RUV_INLINE static F zero_below(F value, F x, F limit) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, limit, _CMP_NLT_UQ), value);
  }
  // 2^n for integral n in [-126, 127].
  RUV_INLINE static F power_of_two(F n) {
    const __m512i e = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(e, 23));
  }
  // Folded in halves.
  RUV_INLINE static float sum(F x) {
    const __m256 y = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    const __m128 z = _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
    const __m128 u = _mm_add_ps(z, _mm_movehl_ps(z, z));
    return _mm_cvtss_f32(_mm_add_ss(u, _mm_movehdup_ps(u)));
  }
  RUV_INLINE static float greatest(F x) { return _mm512_reduce_max_ps(x); }

  RUV_INLINE static F load_f16(const void* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
  }
  RUV_INLINE static void store_f16(uint16_t* p, F x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  RUV_INLINE static F load_bf16(const void* p) {
    const __m256i bits = _mm256_loadu_si256(static_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  RUV_INLINE static void store_int8(int8_t* p, F x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(x)));
  }
  // Σ of 16 int8.
  RUV_INLINE static int sum_int8_16(const int8_t* p) {
    const __m128i q = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)),
                                    _mm_set1_epi8(static_cast<char>(0x80)));
    const __m128i s = _mm_sad_epu8(q, _mm_setzero_si128());
    return _mm_cvtsi128_si32(s) + _mm_extract_epi16(s, 4) - 16 * 128;
  }

  RUV_INLINE static B load_bytes(const std::byte* p) { return _mm512_loadu_si512(p); }
  RUV_INLINE static B or_(B a, B b) { return _mm512_or_si512(a, b); }
  RUV_INLINE static B low_nibbles(B x) { return _mm512_and_si512(x, _mm512_set1_epi8(15)); }
  RUV_INLINE static B high_nibbles(B x) {
    return _mm512_and_si512(_mm512_srli_epi16(x, 4), _mm512_set1_epi8(15));
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
    const __m128i table = _mm_setr_epi8(
        -127 + 128, -104 + 128, -83 + 128, -65 + 128, -49 + 128, -35 + 128, -22 + 128, -10 + 128,
        static_cast<char>(1 + 128), static_cast<char>(13 + 128), static_cast<char>(25 + 128),
        static_cast<char>(38 + 128), static_cast<char>(53 + 128), static_cast<char>(69 + 128),
        static_cast<char>(89 + 128), static_cast<char>(113 + 128));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), index);
  }

  // Levels::kLevels[index]. Requires: indices below 16.
  template <class Levels>
  RUV_INLINE static B look_up(B index) {
    const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(Levels::kLevels));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), index);
  }

  // Every lane's byte, moved up, as the bits of a float32.
  template <int kShift>
  RUV_INLINE static F from_bits(const std::byte* p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu8_epi32(lane_bytes(p)), kShift));
  }
  // Every lane's byte as a sign and, moved up, seven bits of a float32.
  template <int kShift>
  RUV_INLINE static F from_float8(const std::byte* p) {
    const __m512i x = _mm512_slli_epi32(_mm512_cvtepi8_epi32(lane_bytes(p)), kShift);
    const auto kept = static_cast<int>(0x80000000U | 0x7FU << kShift);
    return _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32(kept)));
  }
  // Levels::kLevels[the nibble at bit `at` of every lane's byte].
  template <class Levels>
  RUV_INLINE static F look_up_floats(const std::byte* p, int at) {
    const __m512i x = _mm512_srli_epi32(_mm512_cvtepu8_epi32(lane_bytes(p)), at);
    return _mm512_permutexvar_ps(x, load(Levels::kLevels));
  }
  RUV_INLINE static F from_int(I x) { return _mm512_cvtepi32_ps(x); }
  RUV_INLINE static F from_u8(const std::byte* p) {
    return from_int(_mm512_cvtepu8_epi32(lane_bytes(p)));
  }
  RUV_INLINE static F from_s8(const std::byte* p) {
    return from_int(_mm512_cvtepi8_epi32(lane_bytes(p)));
  }
  // The nibble at bit `at` of every lane's byte.
  RUV_INLINE static F from_u4(const std::byte* p, int at) {
    const __m512i x = _mm512_srli_epi32(_mm512_cvtepu8_epi32(lane_bytes(p)), at);
    return from_int(_mm512_and_si512(x, _mm512_set1_epi32(15)));
  }
  // Nibble at bit low_at of p plus 16 times the pair at bit high_at of q.
  RUV_INLINE static F from_six_bits(const std::byte* p, int low_at, const std::byte* q,
                                    int high_at) {
    const __m512i low = _mm512_srli_epi32(_mm512_cvtepu8_epi32(lane_bytes(p)), low_at);
    const __m512i high = _mm512_srli_epi32(_mm512_cvtepu8_epi32(lane_bytes(q)), high_at);
    return from_int(
        _mm512_or_si512(_mm512_and_si512(low, _mm512_set1_epi32(15)),
                        _mm512_slli_epi32(_mm512_and_si512(high, _mm512_set1_epi32(3)), 4)));
  }

  // kFirst · sums[0] + kSecond · sums[1] in every lane.
  template <int kFirst, int kSecond>
  RUV_INLINE static I weigh_sums(const int16_t* sums) {
    if constexpr (kFirst == 0 && kSecond == 0) return _mm512_setzero_si512();
    const int weights = static_cast<int>((static_cast<uint32_t>(kSecond) << 16) |
                                         (static_cast<uint32_t>(kFirst) & 0xFFFFU));
    return _mm512_dpwssd_epi32(_mm512_setzero_si512(), four_bytes(sums),
                               _mm512_set1_epi32(weights));
  }
  // start + Σ words [kBegin, kEnd) of the block. Exact.
  template <int kMax, int kBegin, int kEnd>
  RUV_INLINE static I dot(I start, const B* codes, const int8_t* q) {
    RUV_UNROLL
    for (int j = kBegin; j < kEnd; ++j) {
      start = _mm512_dpbusd_epi32(start, codes[j], four_bytes(q + 4 * j));
    }
    return start;
  }
  // acc + the products of four codes of every lane with the same four activations. Exact.
  RUV_INLINE static I dot_four(I acc, B codes, B four) {
    return _mm512_dpbusd_epi32(acc, codes, four);
  }
  RUV_INLINE static __m512i four_bytes(const void* p) {
    int word;
    __builtin_memcpy(&word, p, 4);
    return _mm512_set1_epi32(word);
  }
  // Sixteen chains: two pipes with up to eight cycles' latency.
  static int64_t int8_peak(int64_t rounds, int32_t* sink) {
    I acc[16];
    RUV_UNROLL
    for (int i = 0; i < 16; ++i) acc[i] = _mm512_set1_epi32(*sink + i);
    const I a = _mm512_set1_epi32(*sink | 0x01020304);
    const I b = _mm512_set1_epi32(*sink | 0x04030201);
    for (int64_t round = 0; round < rounds; ++round) {
      RUV_UNROLL
      for (int i = 0; i < 16; ++i) acc[i] = _mm512_dpbusd_epi32(acc[i], a, b);
    }
    RUV_UNROLL
    for (int i = 0; i < 16; ++i) *sink ^= _mm512_reduce_add_epi32(acc[i]);
    return rounds * 16 * 64;
  }

  static uint64_t sum_words(const uint64_t* words, int64_t n) {
    I acc[4] = {};
    for (int64_t i = 0; i < n; i += 4 * 8) {
      RUV_UNROLL
      for (int j = 0; j < 4; ++j) {
        const uint64_t* p = words + i + j * 8;
        acc[j] = _mm512_add_epi64(acc[j], _mm512_loadu_si512(p));
      }
    }
    uint64_t lanes[8];
    const I sum =
        _mm512_add_epi64(_mm512_add_epi64(acc[0], acc[1]), _mm512_add_epi64(acc[2], acc[3]));
    __builtin_memcpy(lanes, &sum, sizeof lanes);
    uint64_t total = 0;
    for (int i = 0; i < 8; ++i) total += lanes[i];
    return total;
  }

 private:
  RUV_INLINE static __m128i lane_bytes(const std::byte* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  // (byte >> kBit & mask) · kWeight; bits that cross bytes in the 16-bit shift are masked off.
  template <int kBit, int kWeight, int kMask>
  RUV_INLINE static B shifted(B x) {
    constexpr int kUp = __builtin_ctz(kWeight) - kBit;
    if constexpr (kUp > 0) {
      x = _mm512_slli_epi16(x, kUp);
    } else if constexpr (kUp < 0) {
      x = _mm512_srli_epi16(x, -kUp);
    }
    return _mm512_and_si512(x, _mm512_set1_epi8(static_cast<char>(kMask * kWeight)));
  }
};

}  // namespace
}  // namespace ruv
