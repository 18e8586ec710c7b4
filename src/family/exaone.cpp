// EXAONE 3: Llama under another name. Published folders have names of their own for keys and
// tensors, those that transformers writes have Llama's.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "exaone",
                                 .class_names = "ExaoneForCausalLM ExaoneModel",
                                 .sizes = {.layers = "num_hidden_layers num_layers"},
                                 .act_key = "hidden_act activation_function",
                                 .norm_eps_key = "rms_norm_eps layer_norm_epsilon",
                                 .norm_eps = 1e-5,
                                 .max_positions = 4096,
                                 .n_heads = 32,
                                 .n_kv_heads = 8,
                                 .null_kv_heads = true,
                                 .null_head_dim = true,
                                 .rope_base = 500000,
                                 .rotary_part_key = "",
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .mlp_bias = "mlp_bias",
                                 .without_effect = "embed_dropout embd_dropout pretraining_tp"}};
constexpr TensorName kNames[] = {
    {"token_embd", "wte"},
    {"output_norm", "ln_f"},
    {"blk.{}.attn_norm", "h.{}.ln_1"},
    {"blk.{}.ffn_norm", "h.{}.ln_2"},
    {"blk.{}.attn_q", "h.{}.attn.attention.q_proj"},
    {"blk.{}.attn_k", "h.{}.attn.attention.k_proj"},
    {"blk.{}.attn_v", "h.{}.attn.attention.v_proj"},
    {"blk.{}.attn_output", "h.{}.attn.attention.out_proj"},
    {"blk.{}.ffn_gate", "h.{}.mlp.c_fc_0"},
    {"blk.{}.ffn_up", "h.{}.mlp.c_fc_1"},
    {"blk.{}.ffn_down", "h.{}.mlp.c_proj"},
};
}  // namespace

constinit const FamilyRecord exaone{
    .name = "exaone", .published = "EXAONE 3 and 3.5", .own_names = kNames, .classes = kClasses};
}  // namespace ruv::family
