// DType: how the numbers of a tensor are stored. The values are the type ids of GGUF files, so a
// validated id of a file is a DType without conversion. Gaps are ids that the format's standard has
// removed or that this program does not read; those from 200 on are in no file.
//
// The name says what a number costs: qN_0 and qN_1 use N bits and one scale (and minimum) per 32
// numbers, qN_k a scale per 16 or 32 numbers inside a super-block of 256, iqN_* a codebook or
// uneven levels, tqN_0 ternary digits, mxfp4 and nvfp4 four-bit floats under a shared scale; aN has
// N-bit integers under a scale and a zero, nf4, fp4, e2m1, e4m3 and e5m2 small floats. More
// bits per number cost memory bandwidth, which is what limits decoding; fewer cost quality.
#pragma once

#include <cstdint>

namespace ruv {

enum class DType : uint8_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q8_1 = 9,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  q8_k = 15,
  iq2_xxs = 16,
  iq2_xs = 17,
  iq3_xxs = 18,
  iq1_s = 19,
  iq4_nl = 20,
  iq3_s = 21,
  iq2_s = 22,
  iq4_xs = 23,
  i8 = 24,
  i16 = 25,
  i32 = 26,
  i64 = 27,
  f64 = 28,
  iq1_m = 29,
  bf16 = 30,
  tq1_0 = 34,
  tq2_0 = 35,
  mxfp4 = 39,
  nvfp4 = 40,
  // Formats of ik_llama.cpp, whose ids are from 133 on.
  q6_0 = 133,
  iq1_bn = 134,
  iq2_bn = 135,
  iq2_k = 137,
  iq3_k = 138,
  iq4_k = 139,
  iq5_k = 140,
  iq6_k = 141,
  iq4_ks = 144,
  iq2_ks = 145,
  iq4_kss = 146,
  q8_kv = 151,
  iq5_ks = 152,
  iq2_kt = 153,
  iq3_kt = 154,
  iq4_kt = 155,
  iq3_ks = 156,
  iq2_kl = 157,
  iq1_kt = 158,
  // Formats of our own, from kFirstOwnDType on: what checkpoints of other tools become. No file may
  // use these ids, which other versions may give to other formats.
  a4 = 200,
  a4_f32 = 201,
  a8_f32 = 202,
  nf4 = 203,
  fp4 = 204,
  e2m1 = 205,
  e4m3 = 206,
  e5m2 = 207,
};

inline constexpr uint8_t kFirstOwnDType = 200;

}  // namespace ruv
