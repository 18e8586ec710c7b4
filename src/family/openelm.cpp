// OpenELM: Llama whose layers have heads, key heads and feed-forward widths of their own, with one
// matrix of queries, keys and values.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "transformer.token_embeddings"},
    {"output_norm", "transformer.norm"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "transformer.layers.{}.attn_norm"},
    {"blk.{}.attn_qkv", "transformer.layers.{}.attn.qkv_proj"},
    {"blk.{}.attn_q_norm", "transformer.layers.{}.attn.q_norm"},
    {"blk.{}.attn_k_norm", "transformer.layers.{}.attn.k_norm"},
    {"blk.{}.attn_output", "transformer.layers.{}.attn.out_proj"},
    {"blk.{}.ffn_norm", "transformer.layers.{}.ffn_norm"},
    {.gguf = "blk.{}.ffn_gate", .hf = "transformer.layers.{}.ffn.proj_1", .other = "blk.{}.ffn_up"},
    {"blk.{}.ffn_down", "transformer.layers.{}.ffn.proj_2"},
};
constexpr NeutralKey kNeutral[] = {{"ffn_with_glu", " true "},
                                   {"normalization_layer_name", R"( "rms_norm" )"}};
constexpr HfClass kClasses[] = {{.model_type = "openelm",
                                 .class_names = "OpenELMForCausalLM OpenELMModel",
                                 .sizes = {.layers = "num_transformer_layers",
                                           .width = "model_dim",
                                           .heads = "",
                                           .kv_heads = "",
                                           .ff = "",
                                           .positions = "max_context_length"},
                                 .act_key = "activation_fn_name",
                                 .norm_eps_key = "",
                                 .max_positions = 2048,
                                 .head_dim = 128,
                                 .rope_base_key = "rope_freq_constant",
                                 .qk_norm_key = "normalize_qk_projections",
                                 .widths = {.heads = "num_query_heads",
                                            .kv_heads = "num_kv_heads",
                                            .ff_factors = "ffn_multipliers",
                                            .ff_divisor_key = "ffn_dim_divisor",
                                            .ff_divisor = 256,
                                            .group_key = "num_gqa_groups"},
                                 .tie_key = "share_input_output_layers",
                                 // The lists are made of these.
                                 .without_effect = "qkv_multipliers rope_max_length",
                                 .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord openelm{
    .name = "openelm",
    .published = "OpenELM 270M to 3B",
    .block = {.qk_norm = QkNorm::heads, .qk_norm_optional = true, .widths_by_layer = true},
    .usual_names = false,
    .own_names = kNames,
    .base_prefix = "transformer.",
    .classes = kClasses};
}  // namespace ruv::family
