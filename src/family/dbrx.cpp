// DBRX: experts in all layers, layer norms without biases, limited numbers in q, k and v, and no
// biases at all. Its settings are in objects for attention and for the experts.
#include "family/families.h"

namespace ruv::family {
namespace {
// Matrices of experts lie one below the other, those of the last step transposed.
constexpr TensorName kNames[] = {
    {"token_embd", "wte"},
    {"output_norm", "norm_f"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "blocks.{}.norm_attn_norm.norm_1"},
    {"blk.{}.attn_qkv", "blocks.{}.norm_attn_norm.attn.Wqkv"},
    {"blk.{}.attn_output", "blocks.{}.norm_attn_norm.attn.out_proj"},
    {"blk.{}.attn_output_norm", "blocks.{}.norm_attn_norm.norm_2"},
    {"blk.{}.ffn_gate_inp", "blocks.{}.ffn.router.layer"},
    {.gguf = "blk.{}.ffn_gate_exps.weight",
     .hf = "blocks.{}.ffn.experts.mlp.w1",
     .whole = true,
     .stack = ExpertStack::flat},
    {.gguf = "blk.{}.ffn_up_exps.weight",
     .hf = "blocks.{}.ffn.experts.mlp.v1",
     .whole = true,
     .stack = ExpertStack::flat},
    {.gguf = "blk.{}.ffn_down_exps.weight",
     .hf = "blocks.{}.ffn.experts.mlp.w2",
     .conv1d = true,
     .whole = true,
     .stack = ExpertStack::flat},
};
// The base is in the object for attention where it is not with the other settings of positions.
constexpr HfClass kClasses[] = {
    {.model_type = "dbrx",
     .class_names = "DbrxForCausalLM DbrxModel",
     .inner_objects = "attn_config ffn_config ffn_config.ffn_act_fn",
     .sizes = {.layers = "num_hidden_layers n_layers",
               .width = "hidden_size d_model",
               .heads = "num_attention_heads n_heads",
               .kv_heads = "attn_config.kv_n_heads",
               .ff = "ffn_config.ffn_hidden_size",
               .positions = "max_position_embeddings max_seq_len"},
     .act_key = "ffn_config.ffn_act_fn.name",
     .norm_eps_key = "",
     .norm_eps = 1e-5,
     .max_positions = 2048,
     .n_heads = 16,
     .n_kv_heads = 1,
     .ignores_head_dim = true,
     .rope_base_key = "rope_theta attn_config.rope_theta",
     .experts = {.count = {"ffn_config.moe_num_experts", 4},
                 .used = {"ffn_config.moe_top_k", 1},
                 .width = {"ffn_config.ffn_hidden_size", 3584},
                 .norm_order_key = "ffn_config.moe_normalize_expert_weights"},
     .clamp_key = "attn_config.clip_qkv",
     .without_effect = "resid_pdrop emb_pdrop output_router_logits router_aux_loss_coef "
                       "attn_config.attn_pdrop attn_config.model_type ffn_config.hidden_size "
                       "ffn_config.moe_jitter_eps ffn_config.moe_loss_weight "
                       "ffn_config.model_type ffn_config.uniform_expert_assignment "
                       "ffn_act_fn ffn_hidden_size moe_jitter_eps moe_num_experts"}};
}  // namespace

constinit const FamilyRecord dbrx{.name = "dbrx",
                                  .published = "DBRX base and instruct",
                                  .block = {.norm = Norm::layer, .norm_biases = false},
                                  .experts = {.computed = true},
                                  .gguf_keys = "attention.clamp_kqv",
                                  .ffn_norm = "attn_output_norm",
                                  .vocab = {.splits = "dbrx"},
                                  .usual_names = false,
                                  .own_names = kNames,
                                  .classes = kClasses};
}  // namespace ruv::family
