// Which format each tensor gets. The expectations were compared with files that llama.cpp writes.
#include "format/quant_mix.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace ruv {
namespace {

constexpr MixFacts kDense{.n_layers = 32, .heads_per_kv_head = 4};

DType format_in(std::string_view type, std::string_view name, const MixFacts& facts = kDense,
                int64_t n_columns = 4096) {
  return mixed_format(*find_quant_type(type), name, n_columns, facts);
}

TEST(QuantMix, NamesAndFileTypesAreUnique) {
  std::set<std::string> names;
  std::set<uint32_t> ids;
  for (const QuantType& type : quant_types()) {
    EXPECT_TRUE(names.insert(type.name).second) << type.name;
    EXPECT_TRUE(ids.insert(type.file_type).second) << type.name;
    EXPECT_NE(format_of(type.base).encode, nullptr) << type.name;
    EXPECT_EQ(find_quant_type(type.name), &type);
  }
  EXPECT_EQ(find_quant_type("q4_k"), find_quant_type("q4_k_m"));
  EXPECT_EQ(find_quant_type("q3_k"), find_quant_type("q3_k_m"));
  EXPECT_EQ(find_quant_type("q5_k"), find_quant_type("q5_k_m"));
  for (const char* name : {"", "q4", "q4_k_m_m", "Q4_K_M", "iq5_k", "q8_k", "i8"}) {
    EXPECT_EQ(find_quant_type(name), nullptr) << name;
  }
}

TEST(QuantMix, OnlyMatricesOfMultiplicationsAreQuantised) {
  EXPECT_TRUE(is_quantizable("token_embd.weight", 2));
  EXPECT_TRUE(is_quantizable("blk.0.ffn_up_exps.weight", 3));
  EXPECT_FALSE(is_quantizable("blk.0.attn_q.bias", 1));
  EXPECT_FALSE(is_quantizable("blk.0.attn_norm.weight", 1));
  EXPECT_FALSE(is_quantizable("blk.0.attn_q_norm.weight", 2));
  EXPECT_FALSE(is_quantizable("blk.0.ffn_gate_inp.weight", 2));
  EXPECT_FALSE(is_quantizable("position_embd.weight", 2));
  EXPECT_FALSE(is_quantizable("blk.0.shortconv.conv.weight", 2));
  EXPECT_TRUE(is_quantizable("blk.0.shortconv.in_proj.weight", 2));
  EXPECT_FALSE(is_quantizable("rope_freqs.weight", 1));
  EXPECT_FALSE(is_quantizable("per_layer_model_proj.weight", 2));
  EXPECT_FALSE(is_quantizable("enc.blk.0.attn_rel_b.weight", 2));
  EXPECT_FALSE(is_quantizable("blk.0.time_mix_w1.weight", 2));
  EXPECT_TRUE(is_quantizable("blk.0.time_mix_key.weight", 2));
}

TEST(QuantMix, MediumGivesSensitiveLayersMoreBits) {
  // 32 layers: 0..3, 28..31 and every third between, counted from 4.
  for (const int layer : {0, 3, 6, 9, 27, 28, 31}) {
    const std::string name = "blk." + std::to_string(layer) + ".ffn_down.weight";
    EXPECT_EQ(format_in("q4_k_m", name), DType::q6_k) << layer;
    EXPECT_EQ(format_in("q5_k_m", name), DType::q6_k) << layer;
  }
  for (const int layer : {4, 5, 7, 8, 26}) {
    const std::string name = "blk." + std::to_string(layer) + ".attn_v.weight";
    EXPECT_EQ(format_in("q4_k_m", name), DType::q4_k) << layer;
    EXPECT_EQ(format_in("q5_k_m", name), DType::q5_k) << layer;
  }
  EXPECT_EQ(format_in("q4_k_m", "blk.0.ffn_up.weight"), DType::q4_k);
}

TEST(QuantMix, SmallerMixes) {
  EXPECT_EQ(format_in("q4_k_s", "blk.3.attn_v.weight"), DType::q5_k);
  EXPECT_EQ(format_in("q4_k_s", "blk.4.attn_v.weight"), DType::q4_k);
  EXPECT_EQ(format_in("q4_k_s", "blk.3.ffn_down.weight"), DType::q5_k);
  EXPECT_EQ(format_in("q3_k_s", "blk.0.attn_v.weight"), DType::q3_k);
  EXPECT_EQ(format_in("q3_k_m", "blk.1.attn_v.weight"), DType::q5_k);
  EXPECT_EQ(format_in("q3_k_m", "blk.2.attn_v.weight"), DType::q4_k);
  EXPECT_EQ(format_in("q3_k_m", "blk.1.ffn_down.weight"), DType::q5_k);
  EXPECT_EQ(format_in("q3_k_m", "blk.2.ffn_down.weight"), DType::q4_k);
  EXPECT_EQ(format_in("q3_k_l", "blk.9.attn_output.weight"), DType::q5_k);
  EXPECT_EQ(format_in("q2_k", "blk.9.attn_v.weight"), DType::q4_k);
  EXPECT_EQ(format_in("q2_k", "blk.9.ffn_down.weight"), DType::q3_k);
  EXPECT_EQ(format_in("q2_k", "blk.9.ffn_up.weight"), DType::q2_k);
}

TEST(QuantMix, TypesOfOneAndTwoBitsKeepSomeMatricesBetter) {
  const MixFacts alone{.n_layers = 32};
  for (const char* type : {"iq1_s", "iq1_m", "iq2_xxs", "iq2_xs"}) {
    const DType base = find_quant_type(type)->base;
    EXPECT_EQ(format_in(type, "blk.9.ffn_up.weight"), base);
    EXPECT_EQ(format_in(type, "blk.4.ffn_down.weight"), base);
    EXPECT_EQ(format_in(type, "blk.3.ffn_down.weight"), DType::q2_k);
    EXPECT_EQ(format_in(type, "blk.9.attn_v.weight"), DType::q4_k);
    EXPECT_EQ(format_in(type, "blk.9.attn_v.weight", alone), DType::q2_k);
    EXPECT_EQ(format_in(type, "token_embd.weight"), DType::q2_k);
    EXPECT_EQ(format_in(type, "output.weight"), DType::q5_k);
    EXPECT_EQ(format_in(type, "output.weight", kDense, 4096 + 32), DType::q8_0);
    EXPECT_EQ(format_in(type, "blk.9.ffn_up.weight", kDense, 96), DType::iq4_nl);
  }
  EXPECT_EQ(format_in("iq1_s", "blk.9.attn_output.weight"), DType::iq2_xxs);
  EXPECT_EQ(format_in("iq2_xs", "blk.9.attn_output.weight"), DType::iq2_xs);
  EXPECT_EQ(format_in("iq2_s", "blk.9.ffn_up.weight"), DType::iq2_xs);
  EXPECT_EQ(format_in("iq2_m", "blk.9.ffn_up.weight"), DType::iq2_s);
  for (const char* type : {"iq2_s", "iq2_m"}) {
    EXPECT_EQ(format_in(type, "blk.3.ffn_down.weight"), DType::iq3_s);
    EXPECT_EQ(format_in(type, "blk.9.attn_v.weight", alone), DType::iq3_s);
    EXPECT_EQ(format_in(type, "blk.9.attn_output.weight"), DType::iq3_s);
    EXPECT_EQ(format_in(type, "token_embd.weight"), DType::iq3_s);
  }
  const MixFacts eight{.n_layers = 32, .n_experts = 8};
  EXPECT_EQ(format_in("iq2_xs", "blk.9.attn_v.weight", eight), DType::q4_k);
  EXPECT_EQ(format_in("iq2_xs", "blk.9.attn_k.weight", eight), DType::q4_k);
  EXPECT_EQ(format_in("iq2_xs", "blk.9.attn_output.weight", eight), DType::q5_k);
}

TEST(QuantMix, TypesOfThreeBits) {
  const MixFacts alone{.n_layers = 32};
  EXPECT_EQ(format_in("iq3_xxs", "blk.9.attn_q.weight"), DType::iq2_s);
  EXPECT_EQ(format_in("iq3_xxs", "blk.9.attn_k.weight"), DType::iq2_s);
  EXPECT_EQ(format_in("iq3_xxs", "blk.9.attn_v.weight"), DType::q4_k);
  EXPECT_EQ(format_in("iq3_xxs", "blk.9.attn_v.weight", alone), DType::iq3_xxs);
  EXPECT_EQ(format_in("iq3_xxs", "blk.9.attn_output.weight"), DType::iq3_s);
  EXPECT_EQ(format_in("iq3_xxs", "blk.0.ffn_down.weight"), DType::iq3_xxs);
  EXPECT_EQ(format_in("iq3_xxs", "token_embd.weight"), DType::iq3_s);
  EXPECT_EQ(format_in("iq3_xxs", "output.weight"), DType::q5_k);
  EXPECT_EQ(format_in("iq3_xs", "blk.9.attn_q.weight"), DType::iq3_xxs);
  for (const char* name : {"ffn_up", "ffn_gate"}) {
    for (const int layer : {3, 4, 27, 28}) {
      const bool is_inner = layer >= 4 && layer < 28;
      const std::string full = "blk." + std::to_string(layer) + "." + name + ".weight";
      EXPECT_EQ(format_in("iq3_xs", full), is_inner ? DType::iq3_xxs : DType::iq3_s) << full;
    }
  }
  EXPECT_EQ(format_in("iq3_s", "blk.9.attn_v.weight"), DType::q4_k);
  EXPECT_EQ(format_in("iq3_s", "blk.9.attn_v.weight", alone), DType::iq3_s);
  EXPECT_EQ(format_in("iq3_m", "blk.9.attn_v.weight", alone), DType::q4_k);
  EXPECT_EQ(format_in("iq3_m", "blk.9.attn_output.weight"), DType::q4_k);
  EXPECT_EQ(format_in("iq3_m", "blk.3.ffn_down.weight"), DType::q4_k);
  EXPECT_EQ(format_in("iq3_m", "blk.4.ffn_down.weight"), DType::iq3_s);
  EXPECT_EQ(format_in("iq3_m", "output.weight"), DType::q6_k);
  EXPECT_EQ(format_in("q2_k_s", "blk.3.ffn_down.weight"), DType::q4_k);
  EXPECT_EQ(format_in("q2_k_s", "blk.9.ffn_down.weight"), DType::q2_k);
  EXPECT_EQ(format_in("q2_k_s", "blk.9.attn_v.weight", alone), DType::q2_k);
}

TEST(QuantMix, TernaryTypesAndExpertsInFourBits) {
  EXPECT_EQ(format_in("tq2_0", "token_embd.weight"), DType::q4_k);
  EXPECT_EQ(format_in("tq2_0", "output.weight"), DType::q6_k);
  EXPECT_EQ(format_in("tq1_0", "blk.9.attn_v.weight"), DType::tq1_0);
  EXPECT_EQ(format_in("tq1_0", "blk.9.attn_v.weight", kDense, 96), DType::q4_0);
  EXPECT_EQ(find_quant_type("mxfp4"), find_quant_type("mxfp4_moe"));
  EXPECT_EQ(format_in("mxfp4", "blk.9.ffn_up_exps.weight"), DType::mxfp4);
  EXPECT_EQ(format_in("mxfp4", "blk.9.ffn_up.weight"), DType::q8_0);
  EXPECT_EQ(format_in("mxfp4", "output.weight"), DType::q8_0);
}

TEST(QuantMix, ImportanceChangesTheFirstLayers) {
  MixFacts known = kDense;
  known.has_importance = true;
  EXPECT_EQ(format_in("iq4_xs", "blk.0.ffn_down.weight"), DType::q5_k);
  EXPECT_EQ(format_in("iq4_xs", "blk.0.ffn_down.weight", known), DType::iq4_xs);
  EXPECT_EQ(format_in("q4_0", "blk.0.ffn_down.weight"), DType::q4_0);
  EXPECT_EQ(format_in("q4_0", "blk.0.ffn_down.weight", known), DType::q4_1);
  EXPECT_EQ(format_in("q5_0", "blk.0.ffn_down.weight", known), DType::q5_1);
  EXPECT_EQ(format_in("q5_0", "blk.4.ffn_down.weight", known), DType::q5_0);
}

TEST(QuantMix, FewBitsNeedImportance) {
  const auto needs = [](const char* type, std::string_view name, DType dtype) {
    return needs_importance(*find_quant_type(type), name, dtype);
  };
  EXPECT_TRUE(needs("iq3_xs", "blk.9.attn_q.weight", DType::iq3_xxs));
  EXPECT_FALSE(needs("iq3_xs", "blk.9.attn_v.weight", DType::iq3_s));
  EXPECT_TRUE(needs("q2_k_s", "blk.9.attn_q.weight", DType::q2_k));
  EXPECT_FALSE(needs("q2_k", "blk.9.attn_q.weight", DType::q2_k));
  EXPECT_FALSE(needs("q2_k_s", "token_embd.weight", DType::q2_k));
}

// The more heads share them, the more an error of theirs matters.
TEST(QuantMix, ValuesThatFourHeadsShareGetMoreBits) {
  for (const int64_t heads : {1, 2, 3, 4, 8}) {
    const MixFacts facts{.n_layers = 32, .heads_per_kv_head = heads};
    const auto of_values = [&](std::string_view type) {
      return format_in(type, "blk.9.attn_v.weight", facts);
    };
    const bool shared = heads >= 4;
    EXPECT_EQ(of_values("q2_k"), shared ? DType::q4_k : DType::q3_k) << heads;
    EXPECT_EQ(of_values("iq4_nl"), shared ? DType::q5_k : DType::iq4_nl) << heads;
    EXPECT_EQ(of_values("iq4_xs"), shared ? DType::q5_k : DType::iq4_xs) << heads;
    EXPECT_EQ(of_values("q4_0"), DType::q4_0) << heads;
  }
}

// Fused matrices have the bits of the values in them.
TEST(QuantMix, FusedMatricesAreTreatedAsValues) {
  for (const QuantType& type : quant_types()) {
    if (format_of(type.base).block_size == 1) continue;
    for (const char* layer : {"blk.0.", "blk.3.", "blk.9.", "blk.30."}) {
      const DType values = format_in(type.name, std::string(layer) + "attn_v.weight");
      EXPECT_EQ(format_in(type.name, std::string(layer) + "attn_qkv.weight"), values) << type.name;
      EXPECT_EQ(format_in(type.name, std::string(layer) + "attn_kv_b.weight"), values) << type.name;
    }
  }
  EXPECT_EQ(format_in("q4_k_m", "blk.0.attn_qkv.weight"), DType::q6_k);
  EXPECT_EQ(format_in("q4_k_m", "blk.5.attn_qkv.weight"), DType::q4_k);
}

TEST(QuantMix, ValuesOfSeventyBillionWeightsGetFiveBits) {
  const MixFacts large{.n_layers = 80, .heads_per_kv_head = 8};
  EXPECT_EQ(format_in("q4_k_m", "blk.20.attn_v.weight", large), DType::q5_k);
  EXPECT_EQ(format_in("q4_k_m", "blk.0.attn_v.weight", large), DType::q6_k);
  EXPECT_EQ(format_in("q3_k_s", "blk.20.attn_v.weight", large), DType::q5_k);
  EXPECT_EQ(format_in("q4_k_m", "blk.20.attn_q.weight", large), DType::q4_k);
  const MixFacts whole{.n_layers = 80, .heads_per_kv_head = 1};
  EXPECT_EQ(format_in("q4_k_m", "blk.20.attn_v.weight", whole), DType::q4_k);
}

TEST(QuantMix, TheOutputMatrixGetsSixBits) {
  EXPECT_EQ(format_in("q4_0", "output.weight"), DType::q6_k);
  EXPECT_EQ(format_in("q8_0", "output.weight"), DType::q8_0);
  EXPECT_EQ(format_in("q4_k_m", "token_embd.weight"), DType::q4_k);
  EXPECT_EQ(format_in("iq2_xs", "per_layer_token_embd.weight"), DType::q2_k);
  MixFacts tied = kDense;
  tied.tied_embeddings = true;
  EXPECT_EQ(format_in("q4_k_m", "token_embd.weight", tied), DType::q6_k);
  EXPECT_EQ(format_in("f16", "output.weight"), DType::f16);
}

TEST(QuantMix, EightExpertsKeepTheirAttentionExact) {
  MixFacts eight = kDense;
  eight.n_experts = 8;
  EXPECT_EQ(format_in("q4_k_m", "blk.5.attn_v.weight", eight), DType::q8_0);
  EXPECT_EQ(format_in("q4_k_m", "blk.5.attn_k.weight", eight), DType::q8_0);
  EXPECT_EQ(format_in("q4_k_m", "blk.5.attn_output.weight", eight), DType::q5_k);
  EXPECT_EQ(format_in("q6_k", "blk.5.attn_output.weight", eight), DType::q6_k);
}

TEST(QuantMix, RowsThatDoNotFillBlocksFallBack) {
  EXPECT_EQ(format_in("q4_k_m", "blk.9.ffn_up.weight", kDense, 4096 + 32), DType::q5_0);
  EXPECT_EQ(format_in("q5_k_m", "blk.9.ffn_up.weight", kDense, 96), DType::q5_1);
  EXPECT_EQ(format_in("q6_k", "blk.9.ffn_up.weight", kDense, 96), DType::q8_0);
  EXPECT_EQ(format_in("q2_k", "blk.9.ffn_up.weight", kDense, 96), DType::q4_0);
  EXPECT_EQ(format_in("q3_k_m", "blk.9.ffn_up.weight", kDense, 96), DType::q4_0);
  EXPECT_EQ(format_in("iq4_xs", "blk.9.ffn_up.weight", kDense, 96), DType::iq4_nl);
  EXPECT_EQ(format_in("q4_0", "output.weight", kDense, 96), DType::q8_0);
  EXPECT_EQ(format_in("q4_0", "blk.9.ffn_up.weight", kDense, 33), DType::f16);
  EXPECT_EQ(format_in("q4_k_m", "blk.9.ffn_up.weight", kDense, 7), DType::f16);
}

}  // namespace
}  // namespace ruv
