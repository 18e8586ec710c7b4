// What attention over int8 pages asks of NEON: signed dot products for keys; values widen to int16
// and their products add up in pairs.
#pragma once

#include "kernels/arm/neon.inc.h"

namespace ruv {
namespace {

struct NeonBytes : Neon {
  struct W {
    int16x8_t lo, hi;
  };
  static constexpr int32_t kKeyOffset = 0;

  RUV_INLINE static I set_int(int32_t x) { return {vdupq_n_s32(x), vdupq_n_s32(x)}; }
  RUV_INLINE static int8x16_t four_of(const int8_t* p) {
    int32_t word;
    __builtin_memcpy(&word, p, 4);
    return vreinterpretq_s8_s32(vdupq_n_s32(word));
  }
  RUV_INLINE static int16x4_t two_of(const int16_t* p) {
    int32_t word;
    __builtin_memcpy(&word, p, 4);
    return vreinterpret_s16_s32(vdup_n_s32(word));
  }
  RUV_INLINE static B key_words(const uint8_t* p) {
    const uint8x16_t sign = vdupq_n_u8(0x80);
    return {veorq_u8(vld1q_u8(p), sign), veorq_u8(vld1q_u8(p + 16), sign)};
  }
  RUV_INLINE static I dot_keys(I sum, B key, int8x16_t q) {
    return {vdotq_s32(sum.lo, vreinterpretq_s8_u8(key.lo), q),
            vdotq_s32(sum.hi, vreinterpretq_s8_u8(key.hi), q)};
  }
  RUV_INLINE static I dot_codes(I sum, B codes, int8x16_t q) { return dot_keys(sum, codes, q); }
  template <int kShift, int kMask>
  RUV_INLINE static W code_pairs(const uint32_t* p) {
    return {codes_at<kShift, kMask>(p), codes_at<kShift, kMask>(p + 4)};
  }
  RUV_INLINE static W value_pairs(const int8_t* p) {
    const int8x16_t x = vld1q_s8(p);
    return {vmovl_s8(vget_low_s8(x)), vmovl_high_s8(x)};
  }
  RUV_INLINE static I dot_values(I sum, W value, int16x4_t p) {
    return {vaddq_s32(sum.lo, pairs(value.lo, p)), vaddq_s32(sum.hi, pairs(value.hi, p))};
  }
  RUV_INLINE static void store_int16(int16_t* p, F x) {
    vst1q_s16(p, vcombine_s16(vqmovn_s32(vcvtnq_s32_f32(x.lo)), vqmovn_s32(vcvtnq_s32_f32(x.hi))));
  }

 private:
  template <int kShift, int kMask>
  RUV_INLINE static int16x8_t codes_at(const uint32_t* p) {
    const uint16x8_t x = vreinterpretq_u16_u32(vld1q_u32(p));
    return vreinterpretq_s16_u16(vandq_u16(vshlq_u16(x, vdupq_n_s16(-kShift)), vdupq_n_u16(kMask)));
  }
  RUV_INLINE static int32x4_t pairs(int16x8_t value, int16x4_t p) {
    return vpaddq_s32(vmull_s16(vget_low_s16(value), p), vmull_s16(vget_high_s16(value), p));
  }
};

}  // namespace
}  // namespace ruv
