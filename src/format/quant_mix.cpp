// The mixes as one small function per kind of tensor.
#include "format/quant_mix.h"

#include <charconv>
#include <string>

namespace ruv {
namespace {

// Names, base formats and mixes, with llama.cpp's numbers for general.file_type.
constexpr QuantType kTypes[] = {
    {"f32", DType::f32, MixSize::none, 0},          {"f16", DType::f16, MixSize::none, 1},
    {"bf16", DType::bf16, MixSize::none, 32},       {"q4_0", DType::q4_0, MixSize::none, 2},
    {"q4_1", DType::q4_1, MixSize::none, 3},        {"q5_0", DType::q5_0, MixSize::none, 8},
    {"q5_1", DType::q5_1, MixSize::none, 9},        {"q8_0", DType::q8_0, MixSize::none, 7},
    {"q2_k", DType::q2_k, MixSize::none, 10},       {"q3_k_s", DType::q3_k, MixSize::small, 11},
    {"q3_k_m", DType::q3_k, MixSize::medium, 12},   {"q3_k_l", DType::q3_k, MixSize::large, 13},
    {"q4_k_s", DType::q4_k, MixSize::small, 14},    {"q4_k_m", DType::q4_k, MixSize::medium, 15},
    {"q5_k_s", DType::q5_k, MixSize::small, 16},    {"q5_k_m", DType::q5_k, MixSize::medium, 17},
    {"q6_k", DType::q6_k, MixSize::none, 18},       {"iq4_nl", DType::iq4_nl, MixSize::none, 25},
    {"iq4_xs", DType::iq4_xs, MixSize::none, 30},   {"q2_k_s", DType::q2_k, MixSize::small, 21},
    {"iq1_s", DType::iq1_s, MixSize::none, 24},     {"iq1_m", DType::iq1_m, MixSize::none, 31},
    {"iq2_xxs", DType::iq2_xxs, MixSize::none, 19}, {"iq2_xs", DType::iq2_xs, MixSize::none, 20},
    {"iq2_s", DType::iq2_xs, MixSize::small, 28},   {"iq2_m", DType::iq2_s, MixSize::medium, 29},
    {"iq3_xxs", DType::iq3_xxs, MixSize::none, 23}, {"iq3_xs", DType::iq3_s, MixSize::tiny, 22},
    {"iq3_s", DType::iq3_s, MixSize::small, 26},    {"iq3_m", DType::iq3_s, MixSize::medium, 27},
    {"tq1_0", DType::tq1_0, MixSize::none, 36},     {"tq2_0", DType::tq2_0, MixSize::none, 37},
    {"mxfp4_moe", DType::mxfp4, MixSize::none, 38},
};

bool is(const QuantType& type, DType base, MixSize mix) {
  return type.base == base && type.mix == mix;
}
bool is_medium_four_or_five(const QuantType& type) {
  return is(type, DType::q4_k, MixSize::medium) || is(type, DType::q5_k, MixSize::medium);
}
bool is_iq4(const QuantType& type) {
  return type.base == DType::iq4_nl || type.base == DType::iq4_xs;
}

// The types of one and two bits; those with a size are the better of them.
bool is_tiny(const QuantType& type) {
  return type.base == DType::iq1_s || type.base == DType::iq1_m || type.base == DType::iq2_xxs ||
         type.base == DType::iq2_xs || type.base == DType::iq2_s;
}
bool is_one_bit(const QuantType& type) {
  return type.base == DType::iq1_s || type.base == DType::iq1_m;
}
bool is_ternary(const QuantType& type) {
  return type.base == DType::tq1_0 || type.base == DType::tq2_0;
}
bool is_embedding(std::string_view name) {
  return name == "token_embd.weight" || name == "per_layer_token_embd.weight";
}
bool is_output(std::string_view name, const MixFacts& facts) {
  return name == "output.weight" || (facts.tied_embeddings && is_embedding(name));
}
// Matrices that make values, alone or with others.
bool makes_values(std::string_view name) {
  for (const std::string_view part : {"attn_v.weight", "attn_qkv.weight", "attn_kv_b.weight"}) {
    if (name.find(part) != name.npos) return true;
  }
  return false;
}

// The N of "blk.N.…"; 0 for others.
int64_t layer_of(std::string_view name) {
  int64_t layer = 0;
  if (name.starts_with("blk.")) std::from_chars(name.data() + 4, name.data() + name.size(), layer);
  return layer;
}

// The first and last eighth of the layers and every third between.
bool is_sensitive_layer(int64_t layer, int64_t n) {
  return layer < n / 8 || layer >= 7 * n / 8 || (layer - n / 8) % 3 == 2;
}

// Every matrix of a layer in the types of one and two bits.
DType tiny_format(const QuantType& type, std::string_view name, const MixFacts& facts) {
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  const DType better = type.mix == MixSize::none ? DType::q2_k : DType::iq3_s;
  if (makes_values(name)) {
    return facts.heads_per_kv_head >= 4 || facts.n_experts >= 4 ? DType::q4_k : better;
  }
  if (has("attn_k.weight")) return facts.n_experts == 8 ? DType::q4_k : type.base;
  if (has("ffn_down")) return layer_of(name) < facts.n_layers / 8 ? better : type.base;
  if (has("attn_output.weight")) {
    if (facts.n_experts == 8) return DType::q5_k;
    if (is_one_bit(type)) return DType::iq2_xxs;
    return type.mix == MixSize::none ? type.base : DType::iq3_s;
  }
  return type.base;
}

// What makes values: more bits in sensitive layers and where several heads share a value.
DType value_format(const QuantType& type, int64_t layer, const MixFacts& facts) {
  if (facts.n_experts == 8) return DType::q8_0;  // small beside the experts
  DType chosen = type.base;
  const bool is_shared = facts.heads_per_kv_head >= 4;
  if (is(type, DType::q2_k, MixSize::none)) {
    chosen = is_shared ? DType::q4_k : DType::q3_k;
  } else if (type.base == DType::q2_k || type.base == DType::iq3_xxs ||
             (type.base == DType::iq3_s && type.mix != MixSize::medium)) {
    if (is_shared) chosen = DType::q4_k;
  } else if (is(type, DType::iq3_s, MixSize::medium)) {
    chosen = DType::q4_k;
  } else if (is(type, DType::q3_k, MixSize::medium)) {
    chosen = layer < 2 ? DType::q5_k : DType::q4_k;
  } else if (is(type, DType::q3_k, MixSize::large)) {
    chosen = DType::q5_k;
  } else if (is_medium_four_or_five(type) && is_sensitive_layer(layer, facts.n_layers)) {
    chosen = DType::q6_k;
  } else if (is(type, DType::q4_k, MixSize::small) && layer < 4) {
    chosen = DType::q5_k;
  } else if (is_iq4(type) && is_shared) {
    chosen = DType::q5_k;
  }
  // Models of 70 billion weights, whose values are an eighth of the queries.
  const bool is_small_part = facts.n_layers == 80 && facts.heads_per_kv_head > 1;
  const bool has_few_bits = chosen == DType::q3_k || chosen == DType::q4_k;
  return is_small_part && has_few_bits ? DType::q5_k : chosen;
}

// ffn_down: more bits in sensitive layers.
DType down_format(const QuantType& type, int64_t layer, const MixFacts& facts) {
  const int64_t n = facts.n_layers;
  const bool first_eighth = layer < n / 8;
  if (is(type, DType::q2_k, MixSize::none)) return DType::q3_k;
  if (is(type, DType::q3_k, MixSize::medium)) return layer < n / 16 ? DType::q5_k : DType::q4_k;
  if (is(type, DType::q3_k, MixSize::large)) return DType::q5_k;
  if (is_medium_four_or_five(type) && is_sensitive_layer(layer, n)) return DType::q6_k;
  const bool sensitive_experts = facts.n_experts == 8 && is_sensitive_layer(layer, n);
  if (is(type, DType::iq3_s, MixSize::medium) && sensitive_experts) return DType::q4_k;
  if (!first_eighth) return type.base;
  if (is(type, DType::q2_k, MixSize::small)) return DType::q4_k;
  if (is(type, DType::iq3_s, MixSize::medium)) return DType::q4_k;
  if (is(type, DType::q4_k, MixSize::small)) return DType::q5_k;
  if (is_iq4(type) && !facts.has_importance) return DType::q5_k;
  // Importance leads formats without a minimum astray in these layers.
  if (type.base == DType::q4_0 && facts.has_importance) return DType::q4_1;
  if (type.base == DType::q5_0 && facts.has_importance) return DType::q5_1;
  return type.base;
}

DType attention_output_format(const QuantType& type, const MixFacts& facts) {
  if (facts.n_experts == 8) {
    const bool few_bits = is(type, DType::q2_k, MixSize::none) || type.base == DType::q4_k ||
                          type.base == DType::iq3_xxs || type.base == DType::iq3_s ||
                          is_iq4(type) || (type.base == DType::q3_k && type.mix != MixSize::large);
    return few_bits ? DType::q5_k : type.base;
  }
  if (is(type, DType::q2_k, MixSize::none)) return DType::q3_k;
  if (type.base == DType::iq3_xxs) return DType::iq3_s;
  if (is(type, DType::iq3_s, MixSize::medium)) return DType::q4_k;
  if (is(type, DType::q3_k, MixSize::medium)) return DType::q4_k;
  if (is(type, DType::q3_k, MixSize::large)) return DType::q5_k;
  return type.base;
}

// attn_q and attn_k.
DType query_format(const QuantType& type) {
  if (is(type, DType::iq3_s, MixSize::tiny)) return DType::iq3_xxs;
  return type.base == DType::iq3_xxs ? DType::iq2_s : type.base;
}

// ffn_gate and ffn_up.
DType wide_format(const QuantType& type, int64_t layer, const MixFacts& facts) {
  const int64_t n = facts.n_layers;
  const bool is_inner = layer >= n / 8 && layer < 7 * n / 8;
  return is(type, DType::iq3_s, MixSize::tiny) && is_inner ? DType::iq3_xxs : type.base;
}

// The token embedding where it is not the output.
DType embedding_format(const QuantType& type) {
  if (is_tiny(type)) return type.mix == MixSize::none ? DType::q2_k : DType::iq3_s;
  if (type.base == DType::iq3_xxs) return DType::iq3_s;
  return is_ternary(type) ? DType::q4_k : type.base;
}

DType output_format(const QuantType& type) {
  if (type.base == DType::q8_0 || type.base == DType::mxfp4) return DType::q8_0;
  return is_tiny(type) || type.base == DType::iq3_xxs ? DType::q5_k : DType::q6_k;
}

// The format by what the tensor is for.
DType role_format(const QuantType& type, std::string_view name, const MixFacts& facts) {
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  const int64_t layer = layer_of(name);
  if (is_output(name, facts)) return output_format(type);
  if (type.base == DType::mxfp4) return has("_exps.") ? DType::mxfp4 : DType::q8_0;
  if (is_embedding(name)) return embedding_format(type);
  if (is_tiny(type)) return tiny_format(type, name, facts);
  if (makes_values(name)) return value_format(type, layer, facts);
  if (has("attn_k.weight")) return facts.n_experts == 8 ? DType::q8_0 : query_format(type);
  if (has("attn_q.weight")) return query_format(type);
  if (has("ffn_gate") || has("ffn_up")) return wide_format(type, layer, facts);
  if (has("ffn_down")) return down_format(type, layer, facts);
  if (has("attn_output.weight")) return attention_output_format(type, facts);
  return type.base;
}

// What to take when rows do not fill whole blocks of a format: the next one with blocks of 32.
DType narrower_blocks(DType dtype) {
  switch (dtype) {
    case DType::iq4_xs:
    case DType::iq1_s:
    case DType::iq1_m:
    case DType::iq2_xxs:
    case DType::iq2_xs:
    case DType::iq2_s:
    case DType::iq3_xxs:
    case DType::iq3_s:
      return DType::iq4_nl;
    case DType::q2_k:
    case DType::q3_k:
    case DType::tq1_0:
    case DType::tq2_0:
      return DType::q4_0;
    case DType::q4_k:
      return DType::q5_0;
    case DType::q5_k:
      return DType::q5_1;
    case DType::q6_k:
      return DType::q8_0;
    default:
      return DType::f16;
  }
}

}  // namespace

std::span<const QuantType> quant_types() { return kTypes; }

const QuantType* find_quant_type(std::string_view name) {
  if (name == "mxfp4") name = "mxfp4_moe";
  const bool sized = name == "q3_k" || name == "q4_k" || name == "q5_k";
  const std::string full = std::string(name) + (sized ? "_m" : "");
  for (const QuantType& type : kTypes) {
    if (full == type.name) return &type;
  }
  return nullptr;
}

bool is_quantizable(std::string_view name, size_t n_dims) {
  if (n_dims < 2 || !name.ends_with(".weight")) return false;
  for (const std::string_view part : {"_norm.",
                                      "cls.",
                                      "ffn_gate_inp",
                                      "position_embd",
                                      "token_types",
                                      "shortconv.conv.",
                                      "ssm_conv1d",
                                      "altup_",
                                      "laurel_",
                                      "indexer.proj",
                                      "per_layer_model_proj",
                                      "attn_rel_b.",
                                      "time_mix_first",
                                      "time_mix_w0",
                                      "time_mix_w1",
                                      "time_mix_w2",
                                      "time_mix_v0",
                                      "time_mix_v1",
                                      "time_mix_v2",
                                      "time_mix_a0",
                                      "time_mix_a1",
                                      "time_mix_a2",
                                      "time_mix_g1",
                                      "time_mix_g2",
                                      "time_mix_decay_w1",
                                      "time_mix_decay_w2",
                                      "time_mix_lerp_fused"}) {
    if (name.find(part) != name.npos) return false;
  }
  return true;
}

// The role's format, unless its blocks do not divide the rows.
DType mixed_format(const QuantType& type, std::string_view name, int64_t n_columns,
                   const MixFacts& facts) {
  if (format_of(type.base).block_size == 1) return type.base;
  DType chosen = role_format(type, name, facts);
  const bool is_whole = n_columns % format_of(type.base).block_size == 0;
  if (is_output(name, facts) && !is_whole && chosen == DType::q5_k) chosen = DType::q8_0;
  while (n_columns % format_of(chosen).block_size != 0) chosen = narrower_blocks(chosen);
  return chosen;
}

bool needs_importance(const QuantType& type, std::string_view name, DType dtype) {
  if (is_embedding(name) || name == "output.weight") return false;
  switch (dtype) {
    case DType::iq1_s:
    case DType::iq1_m:
    case DType::iq2_xxs:
    case DType::iq2_xs:
    case DType::iq2_s:
    case DType::iq3_xxs:
      return true;
    default:
      return dtype == DType::q2_k && is(type, DType::q2_k, MixSize::small);
  }
}

}  // namespace ruv
