// Hunyuan-A13B: Hunyuan with experts in all layers beside one that all rows share.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {
    {.model_type = "hunyuan_v1_moe",
     .class_names = "HunYuanMoEV1ForCausalLM HunYuanMoEV1Model",
     .norm_eps = 1e-5,
     .max_positions = 2048,
     .n_heads = 32,
     .null_kv_heads = true,
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .experts = {.count = {"num_experts num_local_experts", 1, true},
                 .used = {"moe_topk num_experts_per_tok", 1, true},
                 .shared_width = {"intermediate_size"}},
     .without_effect = "eod_token_id pretraining_tp output_router_logits"}};
constexpr TensorName kNames[] = {
    {"blk.{}.attn_q_norm", "model.layers.{}.self_attn.query_layernorm"},
    {"blk.{}.attn_k_norm", "model.layers.{}.self_attn.key_layernorm"},
    {"blk.{}.ffn_gate_inp", "model.layers.{}.mlp.gate.wg"},
    {"blk.{}.ffn_gate_shexp", "model.layers.{}.mlp.shared_mlp.gate_proj"},
    {"blk.{}.ffn_up_shexp", "model.layers.{}.mlp.shared_mlp.up_proj"},
    {"blk.{}.ffn_down_shexp", "model.layers.{}.mlp.shared_mlp.down_proj"},
};
}  // namespace

constinit const FamilyRecord hunyuan_moe{.name = "hunyuan-moe",
                                         .published = "Hunyuan A13B",
                                         .block = {.qk_norm = QkNorm::heads, .rotates_first = true},
                                         .experts = {.computed = true},
                                         .own_names = kNames,
                                         .classes = kClasses};
}  // namespace ruv::family
