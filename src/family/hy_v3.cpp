// Hunyuan 3: normalised heads; experts by sigmoids and a bias that chooses, beside those that all
// rows share. llama.cpp has no name for it.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "hy_v3",
                                 .class_names = "HYV3ForCausalLM HYV3Model",
                                 .norm_eps = 1e-5,
                                 .max_positions = 131072,
                                 .n_heads = 64,
                                 .n_kv_heads = 8,
                                 .head_dim = 128,
                                 .rope_base = 11158840,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .mlp_bias = "mlp_bias",
                                 .experts = {.count = {"num_experts num_local_experts", 192},
                                             .used = {"num_experts_per_tok", 8},
                                             .width = {"moe_intermediate_size", 1536},
                                             .layers = HfExpertLayers::types,
                                             .first_dense = {.otherwise = 1},
                                             .scale_key = "router_scaling_factor",
                                             .scale = 2.826,
                                             .choice_bias = true,
                                             .shared_count = {"num_shared_experts", 1}},
                                 .without_effect = "output_router_logits enable_moe_fp32_combine"}};
constexpr TensorName kNames[] = {
    {"blk.{}.ffn_gate_inp", "model.layers.{}.mlp.router.gate"},
    {.gguf = "blk.{}.exp_probs_b.bias", .hf = "model.layers.{}.mlp.expert_bias", .whole = true},
    {"blk.{}.ffn_gate_shexp", "model.layers.{}.mlp.shared_mlp.gate_proj"},
    {"blk.{}.ffn_up_shexp", "model.layers.{}.mlp.shared_mlp.up_proj"},
    {"blk.{}.ffn_down_shexp", "model.layers.{}.mlp.shared_mlp.down_proj"},
};
}  // namespace

constinit const FamilyRecord hy_v3{
    .name = "hy-v3",
    .published = "HY 3",
    .block = {.qk_norm = QkNorm::heads},
    .experts = {.computed = true, .score = RouterScore::sigmoid, .sum_added = 1e-20F},
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
