// The NEON vector policy: 8 lanes in pairs of 128-bit registers. Needs ARMv8.2 with dot products
// and f16. Dot products are signed by signed, so codes stay as they are and q8_0 is packed plain.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/generic/tile.inc.h"
#include "kernels/kernels.h"

namespace ruv {
namespace {

struct Neon {
  struct F {
    float32x4_t lo, hi;
  };
  struct I {
    int32x4_t lo, hi;
  };
  struct B {
    uint8x16_t lo, hi;
  };
  static constexpr int kLanes = 8;
  static constexpr int kTileRows = 4;
  static constexpr bool kMultipliesByLane = true;  // floats, by arm/neon_floats.inc.h
  static constexpr int kFloatTileRows = 3;
  static constexpr int kFloatDirectRows = 3;
  static constexpr int kPageRows = 6;
  static constexpr int kPageSums = 12;
  static constexpr int prefetch_bytes(int block_vectors) { return 65536 / block_vectors; }
  static constexpr int kFloatPrefetch = 8192;
  static constexpr int64_t kFloatPanelSteps = 128;
  static constexpr int kFloatStepsAtOnce = 1;
  static constexpr bool kFloatPrefetchesRows = false;
  static constexpr int kByteStepsAtOnce = 1;
  static constexpr bool kWidensPages = false;
  static constexpr int kPanelFromRows = 16;
  static constexpr int kPanelBlocks = 16;
  static constexpr bool kPrefetchesRows = true;
  static constexpr int kPanelRows = 4;
  static constexpr int kPanelRowsTwoScales = 4;
  static constexpr int kPanelGroupsTwoScales = 1;  // sums of two do not fit the registers
  static constexpr int kByteMax = 0;
  static constexpr int kByteOffset = 0;

  RUV_INLINE static F zero() { return set(0); }
  RUV_INLINE static F set(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x)}; }
  RUV_INLINE static F load(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }
  RUV_INLINE static void store(float* p, F x) {
    vst1q_f32(p, x.lo);
    vst1q_f32(p + 4, x.hi);
  }
  RUV_INLINE static F add(F a, F b) { return {vaddq_f32(a.lo, b.lo), vaddq_f32(a.hi, b.hi)}; }
  RUV_INLINE static F sub(F a, F b) { return {vsubq_f32(a.lo, b.lo), vsubq_f32(a.hi, b.hi)}; }
  RUV_INLINE static F mul(F a, F b) { return {vmulq_f32(a.lo, b.lo), vmulq_f32(a.hi, b.hi)}; }
  RUV_INLINE static F div(F a, F b) { return {vdivq_f32(a.lo, b.lo), vdivq_f32(a.hi, b.hi)}; }
  RUV_INLINE static F fma(F a, F b, F c) {
    return {vfmaq_f32(c.lo, a.lo, b.lo), vfmaq_f32(c.hi, a.hi, b.hi)};
  }
  // w · (lane kLane of x) + acc.
  template <int kLane>
  RUV_INLINE static F fma_lane(F w, float32x4_t x, F acc) {
    return {vfmaq_laneq_f32(acc.lo, w.lo, x, kLane), vfmaq_laneq_f32(acc.hi, w.hi, x, kLane)};
  }
  // Both return b where a or b is NaN, as on x86; the instructions of that name return NaN.
  RUV_INLINE static F max(F a, F b) {
    return {vbslq_f32(vcgtq_f32(a.lo, b.lo), a.lo, b.lo),
            vbslq_f32(vcgtq_f32(a.hi, b.hi), a.hi, b.hi)};
  }
  RUV_INLINE static F min(F a, F b) {
    return {vbslq_f32(vcltq_f32(a.lo, b.lo), a.lo, b.lo),
            vbslq_f32(vcltq_f32(a.hi, b.hi), a.hi, b.hi)};
  }
  RUV_INLINE static F abs(F x) { return {vabsq_f32(x.lo), vabsq_f32(x.hi)}; }
  RUV_INLINE static F round(F x) { return {vrndnq_f32(x.lo), vrndnq_f32(x.hi)}; }
  RUV_INLINE static F with_sign_of(F magnitude, F x) {
    const uint32x4_t sign = vdupq_n_u32(0x80000000U);
    return {vbslq_f32(sign, x.lo, magnitude.lo), vbslq_f32(sign, x.hi, magnitude.hi)};
  }
  // value where x >= limit or x is NaN, else 0.
  RUV_INLINE static F zero_below(F value, F x, F limit) {
    return {clear(value.lo, vcltq_f32(x.lo, limit.lo)), clear(value.hi, vcltq_f32(x.hi, limit.hi))};
  }
  // 2^n for integral n in [-126, 127].
  RUV_INLINE static F power_of_two(F n) { return {power(n.lo), power(n.hi)}; }
  // Folded in halves.
  RUV_INLINE static float sum(F x) {
    const float32x4_t four = vaddq_f32(x.lo, x.hi);
    return vpadds_f32(vadd_f32(vget_low_f32(four), vget_high_f32(four)));
  }
  RUV_INLINE static float greatest(F x) { return vmaxvq_f32(vmaxq_f32(x.lo, x.hi)); }

  RUV_INLINE static F load_f16(const void* p) {
    const float16x8_t h = vreinterpretq_f16_u16(vld1q_u16(static_cast<const uint16_t*>(p)));
    return {vcvt_f32_f16(vget_low_f16(h)), vcvt_high_f32_f16(h)};
  }
  RUV_INLINE static void store_f16(uint16_t* p, F x) {
    const float16x8_t h = vcvt_high_f16_f32(vcvt_f16_f32(x.lo), x.hi);
    vst1q_u16(p, vreinterpretq_u16_f16(h));
  }
  RUV_INLINE static F load_bf16(const void* p) {
    const uint16x8_t h = vld1q_u16(static_cast<const uint16_t*>(p));
    return {vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(h), 16)),
            vreinterpretq_f32_u32(vshll_high_n_u16(h, 16))};
  }
  RUV_INLINE static void store_int8(int8_t* p, F x) {
    const int16x4_t lo = vqmovn_s32(vcvtnq_s32_f32(x.lo));
    const int16x4_t hi = vqmovn_s32(vcvtnq_s32_f32(x.hi));
    vst1_s8(p, vqmovn_s16(vcombine_s16(lo, hi)));
  }
  // Σ of 16 int8.
  RUV_INLINE static int sum_int8_16(const int8_t* p) { return vaddlvq_s8(vld1q_s8(p)); }

  RUV_INLINE static B load_bytes(const std::byte* p) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(p);
    return {vld1q_u8(bytes), vld1q_u8(bytes + 16)};
  }
  RUV_INLINE static B or_(B a, B b) { return {vorrq_u8(a.lo, b.lo), vorrq_u8(a.hi, b.hi)}; }
  RUV_INLINE static B low_nibbles(B x) {
    const uint8x16_t mask = vdupq_n_u8(15);
    return {vandq_u8(x.lo, mask), vandq_u8(x.hi, mask)};
  }
  RUV_INLINE static B high_nibbles(B x) { return {vshrq_n_u8(x.lo, 4), vshrq_n_u8(x.hi, 4)}; }
  // kWeight in every byte whose bit kBit is set.
  template <int kBit, int kWeight>
  RUV_INLINE static B bit(B x) {
    return {shifted<kBit, kWeight, 1>(x.lo), shifted<kBit, kWeight, 1>(x.hi)};
  }
  // Bits kBit, kBit+1 of every byte, shifted to kShift.
  template <int kBit, int kShift>
  RUV_INLINE static B pair(B x) {
    return {shifted<kBit, 1 << kShift, 3>(x.lo), shifted<kBit, 1 << kShift, 3>(x.hi)};
  }
  // Every byte less kOffset, as signed bytes are.
  template <int kOffset>
  RUV_INLINE static B less(B x) {
    const uint8x16_t offset = vdupq_n_u8(kOffset);
    return {vsubq_u8(x.lo, offset), vsubq_u8(x.hi, offset)};
  }
  RUV_INLINE static B iq4_values(B index) {
    static constexpr int8_t kValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                           1,    13,   25,  38,  53,  69,  89,  113};
    const uint8x16_t table = vreinterpretq_u8_s8(vld1q_s8(kValues));
    return {vqtbl1q_u8(table, index.lo), vqtbl1q_u8(table, index.hi)};
  }

  // Levels::kLevels[index]. Requires: indices below 16.
  template <class Levels>
  RUV_INLINE static B look_up(B index) {
    const uint8x16_t table = vld1q_u8(Levels::kLevels);
    return {vqtbl1q_u8(table, index.lo), vqtbl1q_u8(table, index.hi)};
  }

  // Every lane's byte, moved up, as the bits of a float32.
  template <int kShift>
  RUV_INLINE static F from_bits(const std::byte* p) {
    const uint16x8_t x = vmovl_u8(lane_bytes(p));
    return {vreinterpretq_f32_u32(vshlq_n_u32(vmovl_u16(vget_low_u16(x)), kShift)),
            vreinterpretq_f32_u32(vshlq_n_u32(vmovl_high_u16(x), kShift))};
  }
  // Every lane's byte as a sign and, moved up, seven bits of a float32.
  template <int kShift>
  RUV_INLINE static F from_float8(const std::byte* p) {
    const int16x8_t x = vmovl_s8(vreinterpret_s8_u8(lane_bytes(p)));
    const uint32x4_t kept = vdupq_n_u32(0x80000000U | 0x7FU << kShift);
    const uint32x4_t lo = vreinterpretq_u32_s32(vshlq_n_s32(vmovl_s16(vget_low_s16(x)), kShift));
    const uint32x4_t hi = vreinterpretq_u32_s32(vshlq_n_s32(vmovl_high_s16(x), kShift));
    return {vreinterpretq_f32_u32(vandq_u32(lo, kept)), vreinterpretq_f32_u32(vandq_u32(hi, kept))};
  }
  // Levels::kLevels[the nibble at bit `at` of every lane's byte]: bytes 4n to 4n + 3 of the table.
  template <class Levels>
  RUV_INLINE static F look_up_floats(const std::byte* p, int at) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(Levels::kLevels);
    const uint8x16x4_t table = {
        {vld1q_u8(bytes), vld1q_u8(bytes + 16), vld1q_u8(bytes + 32), vld1q_u8(bytes + 48)}};
    const uint16x8_t x = vmovl_u8(field(p, at, 15));
    const uint32x4_t first = vdupq_n_u32(0x03020100U);
    const uint32x4_t lo = vmlaq_n_u32(first, vmovl_u16(vget_low_u16(x)), 0x04040404U);
    const uint32x4_t hi = vmlaq_n_u32(first, vmovl_high_u16(x), 0x04040404U);
    return {vreinterpretq_f32_u8(vqtbl4q_u8(table, vreinterpretq_u8_u32(lo))),
            vreinterpretq_f32_u8(vqtbl4q_u8(table, vreinterpretq_u8_u32(hi)))};
  }
  RUV_INLINE static F from_int(I x) { return {vcvtq_f32_s32(x.lo), vcvtq_f32_s32(x.hi)}; }
  RUV_INLINE static F from_u8(const std::byte* p) { return from_u16(vmovl_u8(lane_bytes(p))); }
  RUV_INLINE static F from_s8(const std::byte* p) {
    const int16x8_t x = vmovl_s8(vreinterpret_s8_u8(lane_bytes(p)));
    return from_int({vmovl_s16(vget_low_s16(x)), vmovl_high_s16(x)});
  }
  // The nibble at bit `at` of every lane's byte.
  RUV_INLINE static F from_u4(const std::byte* p, int at) {
    return from_u16(vmovl_u8(field(p, at, 15)));
  }
  // Nibble at bit low_at of p plus 16 times the pair at bit high_at of q.
  RUV_INLINE static F from_six_bits(const std::byte* p, int low_at, const std::byte* q,
                                    int high_at) {
    const uint8x8_t high = vshl_n_u8(field(q, high_at, 3), 4);
    return from_u16(vmovl_u8(vorr_u8(field(p, low_at, 15), high)));
  }

  // kFirst · sums[0] + kSecond · sums[1] in every lane.
  template <int kFirst, int kSecond>
  RUV_INLINE static I weigh_sums(const int16_t* sums) {
    const int32x4_t x = vdupq_n_s32(kFirst * sums[0] + kSecond * sums[1]);
    return {x, x};
  }
  // start + Σ words [kBegin, kEnd) of the block, whole halves of it. Exact.
  template <int kMax, int kBegin, int kEnd>
  RUV_INLINE static I dot(I start, const B* codes, const int8_t* q) {
    static_assert(kBegin % 4 == 0 && kEnd % 4 == 0);
    RUV_UNROLL
    for (int j = kBegin; j < kEnd; j += 4) {
      const int8x16_t a = vld1q_s8(q + 4 * j);
      start.lo = vdotq_laneq_s32(start.lo, as_signed(codes[j].lo), a, 0);
      start.hi = vdotq_laneq_s32(start.hi, as_signed(codes[j].hi), a, 0);
      start.lo = vdotq_laneq_s32(start.lo, as_signed(codes[j + 1].lo), a, 1);
      start.hi = vdotq_laneq_s32(start.hi, as_signed(codes[j + 1].hi), a, 1);
      start.lo = vdotq_laneq_s32(start.lo, as_signed(codes[j + 2].lo), a, 2);
      start.hi = vdotq_laneq_s32(start.hi, as_signed(codes[j + 2].hi), a, 2);
      start.lo = vdotq_laneq_s32(start.lo, as_signed(codes[j + 3].lo), a, 3);
      start.hi = vdotq_laneq_s32(start.hi, as_signed(codes[j + 3].hi), a, 3);
    }
    return start;
  }

  // dot += the products of words [kBegin, kEnd) of G groups and R rows. Exact.
  template <int kBegin, int kEnd, int G, int R>
  RUV_INLINE static void add_products(const B (&codes)[8][G], const ActBlock* const* a,
                                      I (&dot)[G][R]) {
    static_assert(kBegin % 4 == 0 && kEnd % 4 == 0);
    RUV_UNROLL
    for (int j = kBegin; j < kEnd; j += 4) {
      int8x16_t four[R];
      RUV_UNROLL
      for (int r = 0; r < R; ++r) four[r] = vld1q_s8(a[r]->q + 4 * j);
      add_word<0>(codes[j], four, dot);
      add_word<1>(codes[j + 1], four, dot);
      add_word<2>(codes[j + 2], four, dot);
      add_word<3>(codes[j + 3], four, dot);
    }
  }

  static int64_t int8_peak(int64_t rounds, int32_t* sink) {
    int32x4_t acc[8];
    for (int i = 0; i < 8; ++i) acc[i] = vdupq_n_s32(*sink + i);
    const int8x16_t a = vdupq_n_s8(static_cast<int8_t>(*sink | 3));
    for (int64_t round = 0; round < rounds; ++round) {
      RUV_UNROLL
      for (int i = 0; i < 8; ++i) acc[i] = vdotq_s32(acc[i], a, vreinterpretq_s8_s32(acc[i]));
    }
    for (int i = 0; i < 8; ++i) *sink ^= vaddvq_s32(acc[i]);
    return rounds * 8 * 16;
  }

  static uint64_t sum_words(const uint64_t* words, int64_t n) {
    uint64x2_t acc[4] = {vdupq_n_u64(0), vdupq_n_u64(0), vdupq_n_u64(0), vdupq_n_u64(0)};
    for (int64_t i = 0; i < n; i += 8) {
      RUV_UNROLL
      for (int j = 0; j < 4; ++j) acc[j] = vaddq_u64(acc[j], vld1q_u64(words + i + 2 * j));
    }
    return vaddvq_u64(vaddq_u64(vaddq_u64(acc[0], acc[1]), vaddq_u64(acc[2], acc[3])));
  }

 private:
  template <int kWord, int G, int R>
  RUV_INLINE static void add_word(const B (&codes)[G], const int8x16_t (&four)[R], I (&dot)[G][R]) {
    RUV_UNROLL
    for (int g = 0; g < G; ++g) {
      const B code = codes[g];
      RUV_UNROLL
      for (int r = 0; r < R; ++r) {
        dot[g][r].lo = vdotq_laneq_s32(dot[g][r].lo, as_signed(code.lo), four[r], kWord);
        dot[g][r].hi = vdotq_laneq_s32(dot[g][r].hi, as_signed(code.hi), four[r], kWord);
      }
    }
  }
  RUV_INLINE static int8x16_t as_signed(uint8x16_t x) { return vreinterpretq_s8_u8(x); }
  RUV_INLINE static uint8x8_t lane_bytes(const std::byte* p) {
    return vld1_u8(reinterpret_cast<const uint8_t*>(p));
  }
  RUV_INLINE static uint8x8_t field(const std::byte* p, int at, uint8_t mask) {
    const int8x8_t down = vdup_n_s8(static_cast<int8_t>(-at));
    return vand_u8(vshl_u8(lane_bytes(p), down), vdup_n_u8(mask));
  }
  RUV_INLINE static F from_u16(uint16x8_t x) {
    return {vcvtq_f32_u32(vmovl_u16(vget_low_u16(x))), vcvtq_f32_u32(vmovl_high_u16(x))};
  }
  RUV_INLINE static float32x4_t clear(float32x4_t x, uint32x4_t where) {
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(x), where));
  }
  RUV_INLINE static float32x4_t power(float32x4_t n) {
    const int32x4_t e = vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127));
    return vreinterpretq_f32_s32(vshlq_n_s32(e, 23));
  }
  // (byte >> kBit & mask) · kWeight
  template <int kBit, int kWeight, int kMask>
  RUV_INLINE static uint8x16_t shifted(uint8x16_t x) {
    constexpr int kUp = __builtin_ctz(kWeight) - kBit;
    if constexpr (kUp > 0) {
      x = vshlq_n_u8(x, kUp);
    } else if constexpr (kUp < 0) {
      x = vshrq_n_u8(x, -kUp);
    }
    return vandq_u8(x, vdupq_n_u8(kMask * kWeight));
  }
};

}  // namespace
}  // namespace ruv
