// Nomic-BERT: BERT with rotary positions, a gated feed-forward and no biases.
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
    {.model_type = "nomic_bert",
     .class_names = "NomicBertModel NomicBertForMaskedLM",
     .sizes = {.kv_heads = ""},
     .act = "silu",
     .norm_eps_key = "layer_norm_eps",
     .norm_eps = 1e-12,
     .max_positions = 2048,
     .n_heads = 12,
     .null_head_dim = true,
     .rope_base = 1000,
     .tied = true,
     .token_types = 2,
     .classifier = {.class_names = "NomicBertForSequenceClassification",
                    .dense = "pooler.dense",
                    .out = "classifier",
                    .act = "tanh"},
     .without_effect = "hidden_dropout_prob attention_probs_dropout_prob classifier_dropout"}};
}  // namespace

constinit const FamilyRecord nomic_bert{.name = "nomic-bert",
                                        .published = "Nomic Embed Text 1 and 1.5",
                                        .block = {.norm = Norm::layer,
                                                  .embd_norm = true,
                                                  .norm_place = NormPlace::sum,
                                                  .bidirectional = true,
                                                  .token_types = true},
                                        .gguf_keys = " attention.causal ",
                                        .last_norm = "",
                                        .usual_names = false,
                                        .own_names = kNames,
                                        .base_prefix = "",
                                        .head_prefixes = "nomic_bert.",
                                        .classes = kClasses};
}  // namespace ruv::family
