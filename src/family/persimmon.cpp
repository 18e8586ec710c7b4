// Persimmon: layer norms, also of single heads of queries and keys, biases everywhere, a part of
// each head rotated, a plain feed-forward with squared ReLU. Checkpoints keep queries, keys and
// values head by head.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"output_norm", "model.final_layernorm"},
    {"blk.{}.attn_qkv", "model.layers.{}.self_attn.query_key_value"},
    {"blk.{}.attn_output", "model.layers.{}.self_attn.dense"},
    {"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_layernorm"},
    {"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_layernorm"},
    {"blk.{}.ffn_up", "model.layers.{}.mlp.dense_h_to_4h"},
    {"blk.{}.ffn_down", "model.layers.{}.mlp.dense_4h_to_h"},
};
constexpr HfClass kClasses[] = {{.model_type = "persimmon",
                                 .class_names = "PersimmonForCausalLM PersimmonModel",
                                 .sizes = {.kv_heads = ""},
                                 .heads_divide = true,
                                 .norm_eps_key = "layer_norm_eps",
                                 .norm_eps = 1e-5,
                                 .max_positions = 16384,
                                 .n_heads = 64,
                                 .ignores_head_dim = true,
                                 .rope = HfRope::partial,
                                 .rotary_part = 0.5,
                                 .qk_norm_key = "qk_layernorm",
                                 .qk_norm_by_default = true}};
}  // namespace

constinit const FamilyRecord persimmon{.name = "persimmon",
                                       .published = "Persimmon 8B, the text of Fuyu 8B",
                                       .block = {.norm = Norm::layer,
                                                 .qkv_bias = true,
                                                 .all_bias = true,
                                                 .qk_norm = QkNorm::heads,
                                                 .qk_norm_optional = true,
                                                 .gated = false,
                                                 .act = Act::relu2},
                                       .fused_qkv = true,
                                       .qkv_rows = QkvRows::by_key_head,
                                       .own_names = kNames,
                                       .classes = kClasses};
}  // namespace ruv::family
