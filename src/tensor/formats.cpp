// The table of all formats, in the order of their ids.
#include <array>

#include "tensor/format.h"
#include "tensor/formats/affine.h"
#include "tensor/formats/float8.h"
#include "tensor/formats/ik_bits.h"
#include "tensor/formats/ik_k.h"
#include "tensor/formats/ik_ks.h"
#include "tensor/formats/ik_kt.h"
#include "tensor/formats/iq1.h"
#include "tensor/formats/iq2.h"
#include "tensor/formats/iq3.h"
#include "tensor/formats/iq4.h"
#include "tensor/formats/levels.h"
#include "tensor/formats/mxfp4.h"
#include "tensor/formats/nvfp4.h"
#include "tensor/formats/plain.h"
#include "tensor/formats/q2_k.h"
#include "tensor/formats/q3_k.h"
#include "tensor/formats/q4_0.h"
#include "tensor/formats/q4_1.h"
#include "tensor/formats/q4_k.h"
#include "tensor/formats/q5_0.h"
#include "tensor/formats/q5_1.h"
#include "tensor/formats/q5_k.h"
#include "tensor/formats/q6_k.h"
#include "tensor/formats/q8_0.h"
#include "tensor/formats/row_blocks.h"
#include "tensor/formats/ternary.h"

namespace ruv {
namespace {

constexpr Format kFormats[] = {
    {DType::f32, "f32", 1, 4, decode_f32, encode_f32},
    {DType::f16, "f16", 1, 2, decode_f16, encode_f16},
    {DType::q4_0, "q4_0", 32, sizeof(BlockQ4_0), decode_q4_0, encode_q4_0},
    {DType::q4_1, "q4_1", 32, sizeof(BlockQ4_1), decode_q4_1, encode_q4_1},
    {DType::q5_0, "q5_0", 32, sizeof(BlockQ5_0), decode_q5_0, encode_q5_0},
    {DType::q5_1, "q5_1", 32, sizeof(BlockQ5_1), decode_q5_1, encode_q5_1},
    {DType::q8_0, "q8_0", 32, sizeof(BlockQ8_0), decode_q8_0, encode_q8_0},
    {DType::q8_1, "q8_1", 32, sizeof(BlockQ8_1), decode_q8_1, encode_q8_1},
    {DType::q2_k, "q2_k", 256, sizeof(BlockQ2_K), decode_q2_k, encode_q2_k},
    {DType::q3_k, "q3_k", 256, sizeof(BlockQ3_K), decode_q3_k, encode_q3_k},
    {DType::q4_k, "q4_k", 256, sizeof(BlockQ4_K), decode_q4_k, encode_q4_k},
    {DType::q5_k, "q5_k", 256, sizeof(BlockQ5_K), decode_q5_k, encode_q5_k},
    {DType::q6_k, "q6_k", 256, sizeof(BlockQ6_K), decode_q6_k, encode_q6_k},
    {DType::q8_k, "q8_k", 256, sizeof(BlockQ8_K), decode_q8_k, encode_q8_k},
    {DType::iq2_xxs, "iq2_xxs", 256, sizeof(BlockIQ2_XXS), decode_iq2_xxs, encode_iq2_xxs},
    {DType::iq2_xs, "iq2_xs", 256, sizeof(BlockIQ2_XS), decode_iq2_xs, encode_iq2_xs},
    {DType::iq3_xxs, "iq3_xxs", 256, sizeof(BlockIQ3_XXS), decode_iq3_xxs, encode_iq3_xxs},
    {DType::iq1_s, "iq1_s", 256, sizeof(BlockIQ1_S), decode_iq1_s, encode_iq1_s},
    {DType::iq4_nl, "iq4_nl", 32, sizeof(BlockIQ4_NL), decode_iq4_nl, encode_iq4_nl},
    {DType::iq3_s, "iq3_s", 256, sizeof(BlockIQ3_S), decode_iq3_s, encode_iq3_s},
    {DType::iq2_s, "iq2_s", 256, sizeof(BlockIQ2_S), decode_iq2_s, encode_iq2_s},
    {DType::iq4_xs, "iq4_xs", 256, sizeof(BlockIQ4_XS), decode_iq4_xs, encode_iq4_xs},
    {DType::i8, "i8", 1, 1, decode_i8, encode_i8},
    {DType::i16, "i16", 1, 2, decode_i16, encode_i16},
    {DType::i32, "i32", 1, 4, decode_i32, encode_i32},
    {DType::i64, "i64", 1, 8, decode_i64, encode_i64},
    {DType::f64, "f64", 1, 8, decode_f64, encode_f64},
    {DType::iq1_m, "iq1_m", 256, sizeof(BlockIQ1_M), decode_iq1_m, encode_iq1_m},
    {DType::bf16, "bf16", 1, 2, decode_bf16, encode_bf16},
    {DType::tq1_0, "tq1_0", 256, sizeof(BlockTQ1_0), decode_tq1_0, encode_tq1_0},
    {DType::tq2_0, "tq2_0", 256, sizeof(BlockTQ2_0), decode_tq2_0, encode_tq2_0},
    {DType::mxfp4, "mxfp4", 32, sizeof(BlockMxfp4), decode_mxfp4, encode_mxfp4},
    {DType::nvfp4, "nvfp4", 64, sizeof(BlockNvfp4), decode_nvfp4, encode_nvfp4},
    {DType::q6_0, "q6_0", 32, sizeof(BlockQ6_0), decode_q6_0, nullptr},
    {DType::iq1_bn, "iq1_bn", 64, sizeof(BlockIQ1_BN), decode_iq1_bn, nullptr, kHalfHeader},
    {DType::iq2_bn, "iq2_bn", 64, sizeof(BlockIQ2_BN), decode_iq2_bn, nullptr, kFloatHeader},
    {DType::iq2_k, "iq2_k", 256, sizeof(BlockIQ2_K), decode_iq2_k, nullptr},
    {DType::iq3_k, "iq3_k", 256, sizeof(BlockIQ3_K), decode_iq3_k, nullptr},
    {DType::iq4_k, "iq4_k", 256, sizeof(BlockIQ4_K), decode_iq4_k, nullptr},
    {DType::iq5_k, "iq5_k", 256, sizeof(BlockIQ5_K), decode_iq5_k, nullptr},
    {DType::iq6_k, "iq6_k", 256, sizeof(BlockIQ6_K), decode_iq6_k, nullptr},
    {DType::iq4_ks, "iq4_ks", 256, sizeof(BlockIQ4_KS), decode_iq4_ks, nullptr, kFloatHeader},
    {DType::iq2_ks, "iq2_ks", 256, sizeof(BlockIQ2_KS), decode_iq2_ks, nullptr, kHalfHeader},
    {DType::iq4_kss, "iq4_kss", 256, sizeof(BlockIQ4_KSS), decode_iq4_kss, nullptr, kFloatHeader},
    {DType::q8_kv, "q8_kv", 32, sizeof(BlockQ8_KV), decode_q8_kv, nullptr, kKvHeader},
    {DType::iq5_ks, "iq5_ks", 256, sizeof(BlockIQ5_KS), decode_iq5_ks, nullptr, kFloatHeader},
    {DType::iq2_kt, "iq2_kt", 256, sizeof(BlockIQ2_KT), decode_iq2_kt, nullptr, kFloatHeader},
    {DType::iq3_kt, "iq3_kt", 256, sizeof(BlockIQ3_KT), decode_iq3_kt, nullptr, kFloatHeader},
    {DType::iq4_kt, "iq4_kt", 256, sizeof(BlockIQ4_KT), decode_iq4_kt, nullptr, kFloatHeader},
    {DType::iq3_ks, "iq3_ks", 256, sizeof(BlockIQ3_KS), decode_iq3_ks, nullptr, kHalfHeader},
    {DType::iq2_kl, "iq2_kl", 256, sizeof(BlockIQ2_KL), decode_iq2_kl, nullptr, kHalfHeader},
    {DType::iq1_kt, "iq1_kt", 256, sizeof(BlockIQ1_KT), decode_iq1_kt, nullptr, kFloatHeader},
    {DType::a4, "a4", 32, sizeof(BlockA4), decode_a4, encode_a4},
    {DType::a4_f32, "a4_f32", 32, sizeof(BlockA4F32), decode_a4_f32, nullptr},
    {DType::a8_f32, "a8_f32", 32, sizeof(BlockA8F32), decode_a8_f32, nullptr},
    {DType::nf4, "nf4", 32, sizeof(BlockLevels), decode_nf4, nullptr},
    {DType::fp4, "fp4", 32, sizeof(BlockLevels), decode_fp4, nullptr},
    {DType::e2m1, "e2m1", 16, sizeof(BlockE2m1), decode_e2m1, nullptr},
    {DType::e4m3, "e4m3", 32, sizeof(BlockFloat8), decode_e4m3, nullptr},
    {DType::e5m2, "e5m2", 32, sizeof(BlockFloat8), decode_e5m2, nullptr},
};

// Rows are in the order of ids, so the last row has the greatest.
constexpr size_t kIds = static_cast<size_t>(kFormats[std::size(kFormats) - 1].dtype) + 1;

// Maps an id to its row, -1 for gaps, so that finding a format is one load.
constexpr std::array<int8_t, kIds> kRows = [] {
  std::array<int8_t, kIds> rows{};
  rows.fill(-1);
  for (size_t row = 0; row < std::size(kFormats); ++row) {
    rows[static_cast<size_t>(kFormats[row].dtype)] = static_cast<int8_t>(row);
  }
  return rows;
}();

}  // namespace

std::span<const Format> all_formats() { return kFormats; }

const Format& format_of(DType dtype) { return kFormats[kRows[static_cast<size_t>(dtype)]]; }

const Format* find_format(uint32_t gguf_type_id) {
  if (gguf_type_id >= kFirstOwnDType || kRows[gguf_type_id] < 0) return nullptr;
  return &kFormats[kRows[gguf_type_id]];
}

const Format* find_format(std::string_view name) {
  for (const Format& format : kFormats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

}  // namespace ruv
