// Qwen1.5-MoE and Qwen2-MoE: Qwen2 with experts, and one that all rows share with a weight of its
// own. Windows, where they are used, are in every other layer.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {
    {.model_type = "qwen2_moe",
     .class_names = "Qwen2MoeForCausalLM Qwen2MoeModel",
     .max_positions = 32768,
     .n_heads = 16,
     .n_kv_heads = 16,
     .windows = HfWindows::alternate,
     .window = 4096,
     .qkv_bias = "qkv_bias",
     .qkv_bias_by_default = true,
     .experts = {.count = {"num_experts", 60},
                 .used = {"num_experts_per_tok", 4},
                 .width = {"moe_intermediate_size", 1408},
                 .layers = HfExpertLayers::by_step,
                 .normalises_key = "norm_topk_prob",
                 .normalises = false,
                 .shared_width = {"shared_expert_intermediate_size", 5632}},
     .without_effect = "output_router_logits router_aux_loss_coef"}};
constexpr TensorName kNames[] = {
    {"blk.{}.ffn_gate_inp_shexp", "model.layers.{}.mlp.shared_expert_gate"},
    {"blk.{}.ffn_gate_shexp", "model.layers.{}.mlp.shared_expert.gate_proj"},
    {"blk.{}.ffn_up_shexp", "model.layers.{}.mlp.shared_expert.up_proj"},
    {"blk.{}.ffn_down_shexp", "model.layers.{}.mlp.shared_expert.down_proj"},
};
}  // namespace

constinit const FamilyRecord qwen2moe{
    .name = "qwen2moe",
    .published = "Qwen1.5 MoE A2.7B, Qwen2 57B-A14B",
    .experts = {.computed = true, .normalises = false, .shared_router = true},
    .vocab = {.splits = "qwen2"},
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
