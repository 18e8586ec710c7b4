// GTE (multilingual, v1.5): BERT with rotary positions and a gated feed-forward of which only the
// last matrix has biases. Other programs have no GGUF files of it.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "embeddings.word_embeddings"},
    {"token_types", "embeddings.token_type_embeddings"},
    {"token_embd_norm", "embeddings.LayerNorm"},
    {"blk.{}.attn_q", "layers.{}.self_attn.q_proj"},
    {"blk.{}.attn_k", "layers.{}.self_attn.k_proj"},
    {"blk.{}.attn_v", "layers.{}.self_attn.v_proj"},
    {"blk.{}.attn_output", "layers.{}.self_attn.o_proj"},
    {"blk.{}.attn_output_norm", "layers.{}.post_attention_layernorm"},
    {"blk.{}.ffn_gate", "layers.{}.mlp.gate_proj"},
    {"blk.{}.ffn_up", "layers.{}.mlp.up_proj"},
    {"blk.{}.ffn_down", "layers.{}.mlp.down_proj"},
    {"blk.{}.layer_output_norm", "layers.{}.post_mlp_layernorm"},
};
constexpr HfClass kClasses[] = {
    {.model_type = "gte",
     .class_names = "GteModel GteForMaskedLM",
     .sizes = {.kv_heads = ""},
     .act = "gelu",
     .norm_eps_key = "layer_norm_eps",
     .norm_eps = 1e-12,
     .max_positions = 8192,
     .n_heads = 12,
     .rope_base = 160000,
     .tied = true,
     .token_types = 1,
     .classifier = {.class_names = "GteForSequenceClassification",
                    .dense = "pooler.dense",
                    .out = "classifier",
                    .act = "tanh"},
     .without_effect = "hidden_dropout_prob attention_probs_dropout_prob classifier_dropout"}};
}  // namespace

constinit const FamilyRecord gte{.name = "gte",
                                 .published = "GTE multilingual base, GTE en v1.5",
                                 .block = {.norm = Norm::layer,
                                           .embd_norm = true,
                                           .norm_place = NormPlace::sum,
                                           .bidirectional = true,
                                           .token_types = true,
                                           .qkv_bias = true,
                                           .down_bias = true,
                                           .output_bias = true,
                                           .act = Act::gelu},
                                 .gguf_keys = " attention.causal ",
                                 .last_norm = "",
                                 .usual_names = false,
                                 .own_names = kNames,
                                 .base_prefix = "",
                                 .head_prefixes = "gte.",
                                 .classes = kClasses};
}  // namespace ruv::family
