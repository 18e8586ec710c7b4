// GPT-NeoX and Pythia: layer norms, biases, a part of each head rotated, a plain feed-forward
// beside attention with a norm of its own. Checkpoints keep queries, keys and values head by head.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "gpt_neox.embed_in"},
    {"output_norm", "gpt_neox.final_layer_norm"},
    {"output", "embed_out"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "gpt_neox.layers.{}.input_layernorm"},
    {"blk.{}.attn_qkv", "gpt_neox.layers.{}.attention.query_key_value"},
    {"blk.{}.attn_output", "gpt_neox.layers.{}.attention.dense"},
    {"blk.{}.ffn_norm", "gpt_neox.layers.{}.post_attention_layernorm"},
    {"blk.{}.ffn_up", "gpt_neox.layers.{}.mlp.dense_h_to_4h"},
    {"blk.{}.ffn_down", "gpt_neox.layers.{}.mlp.dense_4h_to_h"},
};
constexpr HfClass kClasses[] = {{.model_type = "gpt_neox",
                                 .class_names = "GPTNeoXForCausalLM GPTNeoXModel",
                                 .sizes = {.kv_heads = ""},
                                 .heads_divide = true,
                                 .act = "gelu",
                                 .norm_eps_key = "layer_norm_eps",
                                 .norm_eps = 1e-5,
                                 .max_positions = 2048,
                                 .n_heads = 64,
                                 .ignores_head_dim = true,
                                 .rope = HfRope::partial,
                                 .rope_base_key = "rotary_emb_base",
                                 .rotary_part_key = "rotary_pct",
                                 .rotary_part = 0.25,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .biases_by_default = true,
                                 .parallel_key = "use_parallel_residual",
                                 .without_effect = "classifier_dropout"}};
}  // namespace

constinit const FamilyRecord gptneox{.name = "gptneox",
                                     .published = "Pythia 14M to 12B, GPT-NeoX 20B, Dolly 2",
                                     .block = {.norm = Norm::layer,
                                               .parallel = true,
                                               .all_bias = true,
                                               .gated = false,
                                               .act = Act::gelu},
                                     .gguf_keys = "use_parallel_residual",
                                     .vocab = {.splits = "gpt-2", .nfc = true},
                                     .qkv_rows = QkvRows::by_key_head,
                                     .usual_names = false,
                                     .own_names = kNames,
                                     .base_prefix = "gpt_neox.",
                                     .classes = kClasses};
}  // namespace ruv::family
