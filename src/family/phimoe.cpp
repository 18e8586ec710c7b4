// Phi-3.5-MoE: layer norms, biases, and two experts for each row, chosen and weighted one after the
// other (sparsemixer). LongRoPE scales angles by numbers of its own.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr NeutralKey kNeutral[] = {{"num_experts_per_tok", " 2 "}};
constexpr HfClass kClasses[] = {
    {.model_type = "phimoe",
     .class_names = "PhimoeForCausalLM PhimoeModel PhiMoEForCausalLM",
     .norm_eps = 1e-5,
     .max_positions = 131072,
     .n_heads = 32,
     .n_kv_heads = 8,
     .windows = HfWindows::all,
     .rope = HfRope::longrope,
     .rope_base = 1e6,
     .angle_scales = true,
     .original_positions = 4096,
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .head_bias = "lm_head_bias",
     .experts = {.count = {"num_local_experts", 16},
                 .used = {.otherwise = 2},
                 .normalises = false,
                 .jitter_key = "router_jitter_noise",
                 .jitter = 0.01},
     .without_effect = "output_router_logits router_aux_loss_coef input_jitter_noise",
     .neutral = kNeutral}};
constexpr TensorName kNames[] = {
    {"blk.{}.ffn_gate_inp", "model.layers.{}.block_sparse_moe.gate"},
    {"blk.{}.ffn_gate.{}", "model.layers.{}.block_sparse_moe.experts.{}.w1"},
    {"blk.{}.ffn_down.{}", "model.layers.{}.block_sparse_moe.experts.{}.w2"},
    {"blk.{}.ffn_up.{}", "model.layers.{}.block_sparse_moe.experts.{}.w3"},
};
}  // namespace

constinit const FamilyRecord phimoe{.name = "phimoe",
                                    .published = "Phi-3.5 MoE",
                                    .block = {.norm = Norm::layer, .windows = Windows::all},
                                    .experts = {.computed = true,
                                                .score = RouterScore::sparsemixer,
                                                .normalises = false,
                                                .closeness = 0.02F},
                                    .own_names = kNames,
                                    .classes = kClasses};
}  // namespace ruv::family
